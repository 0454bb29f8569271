//===- SharedGroup.h - Collectives over shared memory --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group of ranks that share memory: threads of one process, or processes with a
// common window. Where every member can address every other's buffers (threads always,
// processes if the buffers lie in PeerMemory) data is moved once, in place. Elsewhere it is
// staged: it goes through the window in chunks.
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
// Staged data goes to two sets of places in turns. A member that writes a place again has passed
// the barrier of the chunk between, so nobody reads the place any more, and a chunk needs one
// barrier. Small buffers are always staged, which saves the second barrier.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_SHAREDGROUP_H
#define DTCC_RUNTIME_COLLECTIVE_SHAREDGROUP_H

#include "runtime/collective/Communicator.h"
#include "runtime/collective/PeerMemory.h"
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

  /// `membership` outlives it.
  SharedGroup(const Membership &membership, void *memory, bool direct, const Waiter &waiter);
  /// Lets processes reach buffers in `peers`, in which the members have the numbers
  /// `processes`. All members call it, or none.
  void usePeers(PeerMemory &peers, std::vector<int64_t> processes);

  void allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void allGather(const void *in, void *out, int64_t count, dtcc_dtype type);
  void reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void allToAll(const void *in, void *out, int64_t count, dtcc_dtype type);
  /// In SharedRows.cpp.
  void allToAllRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists);
  void broadcast(const void *in, void *out, int64_t count, dtcc_dtype type);
  void barrier(const char *what = "barrier");
  /// Shares large reductions and copies out over the threads of the calling rank.
  void useTeam(ThreadTeam &threads) { team = &threads; }

private:
  struct Control;
  struct alignas(64) Member {
    Signal arrived;   /* barriers that the member has reached */
    uint64_t in, out; /* addresses, or handles of PeerMemory */
  };

  /// Whether all members can address the others' buffers of `bytes`. If so all have
  /// arrived, and the buffers are in `ins` and, unless `out` is null, `outs`.
  bool meet(const void *in, const void *out, int64_t bytes, const char *what);
  void wholeAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void directAllReduce(int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  void stagedAllReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction);
  /// `whole`: bytes of the buffer that is written in parts.
  void copyBytes(void *to, const void *from, int64_t bytes, int64_t whole = 0) const;
  void directRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists);
  void stagedRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists);
  /// reduceElements, by the team.
  void reduce(dtcc_dtype type, dtcc_reduction reduction, std::span<const void *const> sources,
              std::span<void *const> destinations, int64_t begin, int64_t end, int64_t shift) const;
  /// Bytes of a place that a chunk fills.
  int64_t chunk() const;
  /// The place of `member` in the current set.
  std::byte *place(int64_t member) const { return places + (turn % 2 * size + member) * placeBytes(direct); }
  static int64_t placeBytes(bool direct) { return direct ? smallBytes : chunkBytes; }
  Wait describe(const char *what) const;

  const Membership &membership;
  int64_t size;
  int64_t me;
  bool direct; /* addresses are the same for all members */
  Waiter waiter;
  Control *control;
  Member *members;
  std::byte *places;             /* [2][size][placeBytes] */
  std::byte *result;             /* staged only: chunkBytes */
  std::vector<const void *> ins; /* by member */
  std::vector<void *> outs;
  ThreadTeam *team = nullptr;
  PeerMemory *peers = nullptr;
  std::vector<int64_t> processes; /* by member, in `peers` */
  uint32_t generation = 0;        /* barriers passed */
  uint32_t turn = 0;              /* chunks staged */

  /// Staged though all could address it.
  static constexpr int64_t smallBytes = 1024;
  /// All-reduces up to this size are reduced by every member as a whole where the choice is
  /// between that and staging.
  static constexpr int64_t wholeBytes = 8192;
  static constexpr int64_t chunkBytes = 512 << 10;
  /// Shown for a buffer that nobody reads.
  static constexpr uint64_t unused = UINT64_MAX;
};

/// A communicator whose collectives are those of one SharedGroup. Messages between members are its own.
class SharedCommunicator : public Communicator {
public:
  void allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) final {
    shared().allReduce(in, out, count, type, reduction);
  }
  void allGather(const void *in, void *out, int64_t count, dtcc_dtype type) final {
    shared().allGather(in, out, count, type);
  }
  void reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) final {
    shared().reduceScatter(in, out, count, type, reduction);
  }
  void allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) final {
    shared().allToAll(in, out, count, type);
  }
  void allToAllRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) final {
    shared().allToAllRows(in, out, rowBytes, lists);
  }
  void broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) final {
    shared().broadcast(in, out, count, type);
  }
  void barrier() final { shared().barrier(); }
  void useTeam(ThreadTeam &team) final { shared().useTeam(team); }
  void tellWhere(const Whereabouts &where) final { membership.where = &where; }

protected:
  SharedCommunicator(int64_t members, Membership &&facts)
      : Communicator(members, facts.me), membership(std::move(facts)) {}
  virtual SharedGroup &shared() = 0;

  Membership membership;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_SHAREDGROUP_H
