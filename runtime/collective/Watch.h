//===- Watch.h - When a wait is in vain ----------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank that has waited for a while asks its watch: has another rank failed, has its
// process ended, was this process told to end, has it been too long? Only waits that sleep
// ask (Wait.h), and waits for a GPU (runtime/cuda/collective/Watchdog.h). Other waits pay nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_WATCH_H
#define DTCC_RUNTIME_COLLECTIVE_WATCH_H

#include "runtime/core/Error.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace dtcc::rt {

class Watch {
public:
  /// `aborted` becomes the exit status of the first rank that fails; `interrupted` says whether SIGINT or SIGTERM
  /// came, or is null.
  Watch(const std::atomic<uint32_t> &aborted, int hangSeconds, bool (*interrupted)())
      : aborted(aborted), hangSeconds(hangSeconds), interrupted(interrupted) {}
  virtual ~Watch() = default;
  Watch(const Watch &) = delete;
  Watch &operator=(const Watch &) = delete;

  /// Reason for which a wait ends early.
  struct Reason {
    Status status;
    std::string why;
    /// Whether what was waited for belongs to the message.
    bool tellsWhat;

    Error error(const std::string &what) const { return {status, tellsWhat ? why + ": " + what : why}; }
  };
  /// For a wait of `seconds` until now. A reason stands only if what is waited for has not come meanwhile: a process
  /// may end when it has done its part.
  std::optional<Reason> look(double seconds);
  /// A wait that ended well. A signal ends a wait once it has lasted longer than others did, so that a step which
  /// goes on is finished.
  void passed(double seconds);

protected:
  /// "rank 1's process (pid 123) has ended", or empty.
  virtual std::string lost() { return {}; }

private:
  std::optional<Reason> failed() const;

  const std::atomic<uint32_t> &aborted;
  int hangSeconds;
  bool (*interrupted)();
  std::atomic<int64_t> longest{0};  /* milliseconds, of the waits that ended well */
  std::atomic<int64_t> signalAt{0}; /* when the signal was seen first; 0: not yet */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_WATCH_H
