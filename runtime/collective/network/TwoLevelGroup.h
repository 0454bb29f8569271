//===- TwoLevelGroup.h - Collectives of ranks on several hosts - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The members of a group fall into runs: neighbours in the order of the group that stand on one
// host. Within a run members share memory (`local`, any Communicator); between runs a Link
// carries messages. What crosses the network crosses it once a host, not once a rank.
//
// Values must be combined in the order of the group. So a large reduction is a chain: the first
// run sums its members' values and sends the sums to the second, which adds its own, and so on;
// the last has the results, which go back along the chain. Chunks follow each other, so both
// directions of every link are busy, and two hosts take no longer than an all-reduce in a ring.
// A chunk is cut into lanes: member i of a run talks to member i of the next. Sums of halves
// travel as f32 and are rounded once. Small reductions are gathers, and every member sums.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NETWORK_TWOLEVELGROUP_H
#define DTCC_RUNTIME_COLLECTIVE_NETWORK_TWOLEVELGROUP_H

#include "runtime/collective/Communicator.h"
#include "runtime/collective/network/Link.h"

#include <functional>

namespace dtcc::rt {

class TwoLevelGroup final : public Communicator {
public:
  /// `hosts`: where each member stands; equal numbers share memory.
  static std::vector<int64_t> runsOf(std::span<const int64_t> hosts);

  /// `begins`: the first member of every run, as runsOf has them. `local` is the group of this member's run. The group
  /// has the channels `channel` and `channel` + 1 of `link` for itself; it outlives the group.
  TwoLevelGroup(Membership facts, std::vector<int64_t> begins, std::unique_ptr<Communicator> local, Link &link,
                uint32_t channel);

  void allReduce(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) override;
  void allGather(const void *in, void *out, int64_t count, dtcc_dtype type) override;
  void reduceScatter(const void *in, void *out, int64_t count, dtcc_dtype type, dtcc_reduction reduction) override;
  void allToAll(const void *in, void *out, int64_t count, dtcc_dtype type) override;
  void allToAllRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) override;
  void broadcast(const void *in, void *out, int64_t count, dtcc_dtype type) override;
  void barrier() override;
  void reserveSend(int64_t peer, int64_t bytes) override;
  void send(const void *data, int64_t bytes, int64_t peer) override;
  void receive(void *data, int64_t bytes, int64_t peer) override;
  void useTeam(ThreadTeam &team) override { local->useTeam(team); }
  void tellWhere(const Whereabouts &where) override;
  uint64_t stagingBytes() const override;

private:
  /// A reduction of chunks, each of up to `length` elements.
  struct Chain {
    int64_t chunks, length;
    dtcc_dtype type;
    dtcc_reduction reduction;
    const char *call;
    /// Elements of a chunk, at most `length`.
    std::function<int64_t(int64_t chunk)> lengthOf;
    /// Elements from the start of a chunk of whose results the runs up to `run` need any.
    std::function<int64_t(int64_t chunk, int64_t run)> neededUpTo;
    /// Copies this member's values of a chunk into `to`.
    std::function<void(int64_t chunk, std::byte *to)> fill;
    /// Takes the results of a chunk.
    std::function<void(int64_t chunk, const std::byte *from)> store;
  };
  void run(const Chain &chain);
  /// The sums of this member's lane over the runs up to its own, of a chunk.
  std::vector<std::byte> sumLane(const Chain &chain, int64_t chunk);
  void gather(const void *in, void *out, int64_t bytes, const char *call);

  int64_t runs() const { return static_cast<int64_t>(begins.size()) - 1; }
  int64_t sizeOf(int64_t run) const { return begins[static_cast<size_t>(run) + 1] - begins[static_cast<size_t>(run)]; }
  int64_t first() const { return begins[static_cast<size_t>(mine)]; }
  int64_t laneOf(int64_t run) const { return begins[static_cast<size_t>(run)] + lane; }
  bool isLocal(int64_t member) const { return member >= first() && member < first() + local->size(); }
  void post(int64_t member, const void *data, int64_t bytes);
  void post(int64_t member, std::vector<std::byte> data);
  void take(int64_t member, void *into, int64_t bytes, const char *call);
  int64_t rankOf(int64_t member) const { return membership.ranks[static_cast<size_t>(member)]; }

  /// Largest message of a lane between two runs; of a longer chain less, so that no more is on its way.
  int64_t messageBytes() const;
  /// Bytes of a chunk of a reduction of `bytes`: small beside them, because the first one fills the chain alone.
  int64_t chunkBytes(int64_t bytes) const;

  static constexpr int64_t laneBytes = 512 << 10, leastBytes = 32 << 10;
  static constexpr int64_t chunksPerHop = 32;
  /// Messages of a lane that may be on their way to the next run and back.
  static constexpr int64_t window = 4;
  /// Values of all members together, up to which a reduction is a gather.
  static constexpr int64_t smallBytes = 64 << 10;

  Membership membership;
  std::vector<int64_t> begins; /* of runs; the last is the number of members */
  std::unique_ptr<Communicator> local;
  Link &link;
  uint32_t channel;
  int64_t mine = 0;  /* this member's run */
  int64_t lane = 0;  /* its place there */
  int64_t lanes = 0; /* members of the smallest run */
  struct Reserved {
    size_t messages = 0;
    int64_t largest = 0;
  };
  std::vector<Reserved> reserved; /* by member */
};

class Node;

/// The group of `members` for `rank`. `hosts`, by rank, says who shares memory, in `node`, which is null where every
/// rank is a host of its own. All ranks call it as often; `channel` counts.
std::unique_ptr<Communicator> twoLevelGroup(const std::string &name, std::span<const int64_t> members, int64_t rank,
                                            const std::vector<int64_t> &hosts, Node *node, Link &link,
                                            uint32_t &channel);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NETWORK_TWOLEVELGROUP_H
