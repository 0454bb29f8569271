//===- Wait.h - Waiting for another rank ---------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A counter that one side raises and the other waits for, in memory that threads
// or processes share. A wait spins a little, then gives up the core, then sleeps in
// the kernel (futex); where ranks outnumber cores it does not spin, because the rank
// it waits for needs the core.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_WAIT_H
#define DTCC_RUNTIME_COLLECTIVE_WAIT_H

#include "runtime/collective/Watch.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace dtcc::rt {

/// Give each a cache line of its own, or one with what its raiser writes.
struct Signal {
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
};

class Waiter {
public:
  /// `watch` says when a wait is in vain; it outlives the waiter and its copies.
  Waiter(bool oversubscribed, Watch &watch)
      : spins(oversubscribed ? 0 : 100), yields(oversubscribed ? 40 : 300), watch(watch) {}

  /// Returns when signal.value has reached `target` (modulo 2^32). `what` makes the Wait, for
  /// the message of an Error that the watch gives a reason for.
  template <typename Describe> void await(Signal &signal, uint32_t target, Describe &&what) const {
    if (poll(signal, target))
      return;
    auto begin = std::chrono::steady_clock::now();
    auto waited = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    while (!sleep(signal, target))
      if (std::optional<Error> error = watch.check(waited(), what()); error && !reached(signal, target))
        throw *error;
    watch.passed(waited());
  }

  /// Whether ranks outnumber cores.
  bool isCrowded() const { return spins == 0; }

  /// Adds 1, and wakes who sleeps.
  static void raise(Signal &signal);

private:
  static constexpr double sleepSeconds = 0.05;
  static bool reached(const Signal &signal, uint32_t target) {
    return static_cast<int32_t>(signal.value.load(std::memory_order_acquire) - target) >= 0;
  }
  bool poll(Signal &signal, uint32_t target) const;
  bool sleep(Signal &signal, uint32_t target) const;

  int spins;
  int yields;
  Watch &watch;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_WAIT_H
