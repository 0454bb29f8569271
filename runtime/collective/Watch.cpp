//===- Watch.cpp - When a wait is in vain --------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Watch.h"

#include <algorithm>
#include <chrono>

namespace dtcc::rt {
namespace {

/// Launchers kill some 30 s after their signal: a rank that waits has said why before.
constexpr int64_t leastPatience = 5000, mostPatience = 20000;

int64_t milliseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

} // namespace

std::optional<Watch::Reason> Watch::failed() const {
  uint32_t status = aborted.load(std::memory_order_acquire);
  if (status == 0)
    return std::nullopt;
  if (status == static_cast<uint32_t>(Status::Interrupted))
    return Reason{Status::Interrupted, "stopped: another rank was interrupted", false};
  return Reason{Status::PeerLost, "stopped: another rank failed", false};
}

std::optional<Watch::Reason> Watch::look(double seconds) {
  if (auto reason = failed())
    return reason;
  if (std::string gone = lost(); !gone.empty()) {
    // It has said why before it ended, if it could.
    if (auto reason = failed())
      return reason;
    return Reason{Status::PeerLost, gone, true};
  }
  if (interrupted && interrupted()) {
    int64_t now = milliseconds(), unseen = 0;
    signalAt.compare_exchange_strong(unseen, now);
    int64_t patience = std::clamp(2 * longest.load(std::memory_order_relaxed), leastPatience, mostPatience);
    if (std::min(now - signalAt.load(), static_cast<int64_t>(seconds * 1e3)) > patience)
      return Reason{Status::Interrupted, "interrupted while waiting", true};
  }
  if (seconds > hangSeconds)
    return Reason{Status::Hang, message("no progress for ", hangSeconds, " s"), true};
  return std::nullopt;
}

void Watch::passed(double seconds) {
  auto mine = static_cast<int64_t>(seconds * 1e3);
  int64_t most = longest.load(std::memory_order_relaxed);
  while (mine > most && !longest.compare_exchange_weak(most, mine, std::memory_order_relaxed))
    ;
}

} // namespace dtcc::rt
