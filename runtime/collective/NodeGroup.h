//===- NodeGroup.h - Groups of processes of one node ---------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The processes of one node that belong to a run share a file. Collectives are SharedGroup's in
// it, and the arenas lie there too; messages pass through rings in it. Whoever started the
// processes, the transports use this for the ranks that stand together.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NODEGROUP_H
#define DTCC_RUNTIME_COLLECTIVE_NODEGROUP_H

#include "runtime/collective/Communicator.h"
#include "runtime/collective/PeerMemory.h"
#include "runtime/collective/ProcessTable.h"
#include "runtime/collective/Wait.h"

#include <atomic>
#include <optional>

namespace dtcc::rt {

/// The part of a node's file where the rings of one rank's messages lie. Two threads of the rank may send.
class RingPlaces {
public:
  /// The part of rank `number` of `ranks`, which share [begin, end) evenly.
  RingPlaces(uint64_t begin, uint64_t end, uint64_t ranks, uint64_t number);

  /// The offset of a new ring of so many bytes, a multiple of 4096. Throws Error if they would not fit.
  uint64_t take(uint64_t bytes);

private:
  const uint64_t room;
  std::atomic<uint64_t> next;
  const uint64_t end;
};

class Node {
public:
  /// Process number `process` of those that run `ranks`. All of them call it with the same `job`, a name that no
  /// other run of this machine has. Throws Error if they do not meet.
  Node(const std::string &job, const Launch &launch, std::vector<int64_t> ranks, int64_t process);
  ~Node();
  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;

  /// Before the first group. `crowded`: whether the ranks' threads outnumber the cores, as the first process says.
  /// `watch` outlives the node's groups.
  void begin(bool crowded, Watch &watch);

  /// The group of `members`, which are ranks of this node, this process's among them. Every process calls it as often,
  /// each with its own members.
  std::unique_ptr<Communicator> group(const std::string &name, std::span<const int64_t> members);
  std::byte *allocate(uint64_t bytes) { return peers.allocate(bytes); }

  /// The exit status of the first rank of the node that failed; 0: none did.
  std::atomic<uint32_t> &aborted() const;
  void abort(int status) noexcept;
  /// Whether this is the first process of the node that asks.
  bool speaksFirst() noexcept;
  ProcessTable &processTable() { return entries; }
  const Waiter &waiting() const { return *waiter; }

private:
  struct Header;
  std::vector<int64_t> ranks; /* by process */
  int64_t process;
  SharedFile file;
  Header *header;
  ProcessTable entries;
  PeerMemory peers;
  std::optional<Waiter> waiter;
  uint64_t next; /* where the next group's memory goes */
  RingPlaces rings;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NODEGROUP_H
