//===- Wait.cpp - Waiting for another rank -------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Wait.h"

#include <climits>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace dtcc::rt {
namespace {

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// FUTEX_PRIVATE is not used, because processes may share the word.
long futex(std::atomic<uint32_t> &word, int operation, uint32_t value, const timespec *timeout) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), operation, value, timeout, nullptr, 0);
}

} // namespace

bool Waiter::poll(Signal &signal, uint32_t target) const {
  for (int i = 0; i < spins; ++i) {
    if (reached(signal, target))
      return true;
    pause();
  }
  for (int i = 0; i < yields; ++i) {
    if (reached(signal, target))
      return true;
    sched_yield();
  }
  return reached(signal, target);
}

bool Waiter::sleep(Signal &signal, uint32_t target) const {
  // The count of sleepers is raised before the value is read again, and raise()
  // reads it after changing the value: one of the two sees the other.
  signal.sleepers.fetch_add(1, std::memory_order_seq_cst);
  uint32_t seen = signal.value.load(std::memory_order_seq_cst);
  if (static_cast<int32_t>(seen - target) < 0) {
    timespec timeout{0, static_cast<long>(sleepSeconds * 1e9)};
    futex(signal.value, FUTEX_WAIT, seen, &timeout);
  }
  signal.sleepers.fetch_sub(1, std::memory_order_relaxed);
  return reached(signal, target);
}

void Waiter::raise(Signal &signal) {
  signal.value.fetch_add(1, std::memory_order_seq_cst);
  if (signal.sleepers.load(std::memory_order_seq_cst) != 0)
    futex(signal.value, FUTEX_WAKE, INT_MAX, nullptr);
}

} // namespace dtcc::rt
