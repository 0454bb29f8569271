//===- SharedGroup.h - Collectives over shared memory --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group of ranks that share memory: threads of one process, or processes with a
// common window. In *direct* groups every member can address every other's buffers
// and data is moved once, in place. In *staged* groups it goes through the window in
// chunks.
//
// Each member reduces its own slice of the elements, reading the members' values in
// the order of the group, and hands it to all: every element is reduced once, so all
// members hold the same bits. Small reductions are staged whole and reduced by
// everybody, which saves one of the two barriers.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_SHAREDGROUP_H
#define DTCC_RUNTIME_COLLECTIVE_SHAREDGROUP_H

#include "runtime/collective/Communicator.h"
#include "runtime/collective/Wait.h"

#include <cstddef>

namespace dtcc::rt {

class SharedGroup {
public:
  /// Bytes of shared memory for a group of `size`.
  static size_t memoryBytes(int64_t size, bool direct);
  /// One member writes the first state into zeroed `memory` (aligned to 64)
  /// before any member makes its SharedGroup.
  static void initialize(void *memory, int64_t size);

  SharedGroup(std::string name, void *memory, int64_t size, int64_t index, bool direct, const Waiter &waiter);

  void allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void allGather(const void *in, void *out, int64_t count, dtcc_dtype type);
  void reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void allToAll(const void *in, void *out, int64_t count, dtcc_dtype type);
  void broadcast(const void *in, void *out, int64_t count, dtcc_dtype type);
  void barrier(const char *what = "barrier");
  /// Shares large reductions and copies out over the threads of the calling rank.
  void useTeam(ThreadTeam &threads) { team = &threads; }

private:
  struct Control;
  struct alignas(64) Member {
    const std::byte *in;
    std::byte *out;
    std::atomic<uint32_t> arrivals;
  };

  /// Shows this member's buffers to the others and waits for theirs.
  void publish(const void *in, void *out, const char *what);
  void smallAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void directAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void stagedAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void copyBytes(void *to, const void *from, int64_t bytes) const;
  /// reduceElements, by the team.
  void reduce(dtcc_dtype type, dtcc_reduction reduction, std::span<const void *const> sources,
              std::span<void *const> destinations, int64_t begin, int64_t end, int64_t shift) const;
  std::byte *stage(int64_t member) const { return stages + member * chunkBytes; }
  std::string describe(const char *what) const;

  std::string name;
  int64_t size;
  int64_t me;
  bool direct;
  Waiter waiter;
  Control *control;
  Member *members;
  std::byte *smalls; /* [2][size][smallBytes] */
  std::byte *stages; /* staged only: [size][chunkBytes], then one result of chunkBytes */
  std::byte *result;
  ThreadTeam *team = nullptr;
  uint32_t generation = 0; /* barriers passed */
  uint32_t smallCount = 0; /* small reductions done */

  static constexpr int64_t smallBytes = 8192;
  static constexpr int64_t chunkBytes = 1 << 20;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_SHAREDGROUP_H
