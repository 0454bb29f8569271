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
// members hold the same bits.
//
// Members meet at barriers. Where every member has a core, each raises a flag of its own
// and watches the others': one cache line moves from a member to each other, and it
// carries the addresses of the member's buffers. Where members share cores they count
// themselves in at one place and sleep on one flag, so that each is woken once.
//
// What is staged goes to two sets of places in turns: who writes a place again has passed
// the barrier of the chunk between, so nobody reads it any more, and a chunk needs one
// barrier. Small buffers are staged in direct groups too, which saves the second barrier.
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
    Signal arrived; /* barriers that the member has reached */
    const std::byte *in;
    std::byte *out;
  };

  /// Shows this member's buffers to the others and waits for theirs.
  void publish(const void *in, void *out, const char *what);
  void wholeAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void directAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void stagedAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  /// `whole`: bytes of the buffer that is written in parts.
  void copyBytes(void *to, const void *from, int64_t bytes, int64_t whole = 0) const;
  /// reduceElements, by the team.
  void reduce(dtcc_dtype type, dtcc_reduction reduction, std::span<const void *const> sources,
              std::span<void *const> destinations, int64_t begin, int64_t end, int64_t shift) const;
  /// Whether a collective that reads `bytes` of each member goes through the places.
  bool isStaged(int64_t bytes) const { return !direct || bytes <= smallBytes; }
  /// Bytes of a place that a chunk fills.
  int64_t chunk() const;
  /// The place of `member` in the current set.
  std::byte *place(int64_t member) const { return places + (turn % 2 * size + member) * placeBytes(direct); }
  static int64_t placeBytes(bool direct) { return direct ? smallBytes : chunkBytes; }
  std::string describe(const char *what) const;

  std::string name;
  int64_t size;
  int64_t me;
  bool direct;
  Waiter waiter;
  Control *control;
  Member *members;
  std::byte *places; /* [2][size][placeBytes] */
  std::byte *result; /* staged only: chunkBytes */
  ThreadTeam *team = nullptr;
  uint32_t generation = 0; /* barriers passed */
  uint32_t turn = 0;       /* chunks staged */

  /// Staged in direct groups.
  static constexpr int64_t smallBytes = 1024;
  /// In staged groups, all-reduces up to this size are reduced by every member as a whole.
  static constexpr int64_t wholeBytes = 8192;
  static constexpr int64_t chunkBytes = 512 << 10;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_SHAREDGROUP_H
