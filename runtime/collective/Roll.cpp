//===- Roll.cpp - Which processes of a job are still there ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Roll.h"

#include "runtime/core/Error.h"

#include <unistd.h>

namespace dtcc::rt {
namespace {

/// Behind all that others keep in the file.
constexpr uint64_t rollBegin = uint64_t(1) << 58;

} // namespace

Roll::Roll(const SharedFile &file, int64_t process, int64_t processes, int64_t rank)
    : file(file), me(process), processes(processes) {
  entries = static_cast<Entry *>(file.map(rollBegin, bytes()));
  file.lock(static_cast<uint64_t>(me));
  entries[me].rank = rank;
  // Nobody is missed before he has his lock.
  entries[me].pid.store(getpid(), std::memory_order_release);
}

Roll::~Roll() { SharedFile::unmap(entries, bytes()); }

std::string Roll::ended() const {
  for (int64_t other = 0; other < processes; ++other)
    if (int64_t pid = entries[other].pid.load(std::memory_order_acquire);
        other != me && pid != 0 && !file.isLocked(static_cast<uint64_t>(other)))
      return message("rank ", entries[other].rank, "'s process (pid ", pid, ") has ended");
  return {};
}

} // namespace dtcc::rt
