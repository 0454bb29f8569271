//===- PeerMemory.h - Memory that other processes can reach --- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arenas of processes of one node lie in their shared file, so that a collective reads
// and writes the other ranks' buffers where they are, as threads do, and nothing is
// staged. A buffer is told to other processes by a handle; they map what they meet.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_PEERMEMORY_H
#define DTCC_RUNTIME_COLLECTIVE_PEERMEMORY_H

#include "runtime/collective/SharedFile.h"

#include <mutex>
#include <vector>

namespace dtcc::rt {

class PeerMemory {
public:
  /// `file` outlives it; `process` is this one's number among those of the file.
  PeerMemory(const SharedFile &file, int64_t process, int64_t processes);
  ~PeerMemory();
  PeerMemory(const PeerMemory &) = delete;
  PeerMemory &operator=(const PeerMemory &) = delete;

  /// Zeroed memory that lives as long as this, aligned to 2 MiB; null if there is no
  /// room for one more block. The others may read it after the next barrier.
  std::byte *allocate(uint64_t bytes);

  /// Never 0 for an address inside allocated memory, 0 for every other.
  uint64_t handle(const void *address) const;
  /// Address in this process of the memory behind a handle of `process`. Safe to call from several threads.
  std::byte *resolve(int64_t process, uint64_t handle);

private:
  struct Segment {
    std::byte *address;
    uint64_t offset; /* in the process's part of the file */
    uint64_t bytes;
  };
  struct Table;

  Table &table(int64_t process);

  const SharedFile &file;
  int64_t me;
  std::byte *tables; /* one a process, shared */
  uint64_t tableBytes;
  std::mutex lock;
  std::vector<std::vector<Segment>> segments; /* by process: those mapped here */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_PEERMEMORY_H
