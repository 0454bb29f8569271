//===- Collectives.h - Seconds of communication
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Latency and bandwidth by algorithm, protocol, nodes and ranks a node, after NCCL's
// tuner, with the ramp that sweeps over message sizes show. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_COLLECTIVES_H
#define DTCC_PLANNER_COST_COLLECTIVES_H

#include "planner/cost/Constants.h"
#include "planner/cost/Work.h"

namespace dtcc::cost {

/// The links around a rank.
struct Fabric {
  /// Ranks that the fast link joins: a node, or a rack.
  int64_t domain = 8;
  Link link, network;
  /// The switches add up (all-reduces alone).
  bool switchSums = false;
  /// Fewer ports than devices leave a node: `network` is a device's share of them.
  bool sharedPorts = false;
  /// Bytes per second of one port, if they are shared.
  double portBytesPerSecond = 0;
  /// Ranks share the memory of a processor: no algorithms to choose from, and latencies are the link's.
  bool sharedMemory = false;
};
/// The fabric around a device in nodes of `ranksPerNode`; 0: the preset's.
Fabric fabricOf(const Device &device, int64_t ranksPerNode = 0);

/// Distribution of a group over nodes: `nodes` of them with `ranksPerNode` ranks of the group each.
struct Spread {
  int64_t nodes = 1, ranksPerNode = 1;
};
Spread spreadOf(const Group &group, int64_t domain);

/// Messages of `width` ranks, of which the first is rank `first`, to the ranks `apart` above them: those of a stage of
/// a pipeline to the next.
struct Hop {
  int64_t first = 0, apart = 1, width = 1;
  /// Whether the ranks of both sides are of one domain.
  bool isWithin(int64_t domain) const { return first / domain == (first + apart + width - 1) / domain; }
};

class Collectives {
public:
  Collectives(const Fabric &fabric, const Constants &constants) : fabric(fabric), constants(constants) {}

  /// 0 for a group of one rank or no bytes.
  double seconds(const Transfer &transfer) const;
  /// One message between ranks `stride` apart, which share a domain if that reaches so far.
  double secondsToSend(double bytes, int64_t stride) const { return secondsToSend(bytes, Hop{0, stride, 1}); }
  /// Returns the seconds of one message of a hop, whose messages are all sent at a time. Where few ranks of a node send
  /// out of it, they share its ports alone.
  double secondsToSend(double bytes, const Hop &hop) const;
  /// Bytes a second that a rank of a ring sends while large messages move.
  double busRate(const Spread &spread) const;
  /// Bytes whose gather among the nearest of `ranks` ranks takes as long as starting one: latency times bandwidth.
  double latencyBytes(int64_t ranks) const;
  /// Bytes a second that `ranks` ranks gather from each other while large amounts move.
  double gatherRate(int64_t ranks) const;

private:
  /// Bandwidth of the wires of a device that lead to the other `ranks` - 1 members of a group in its node.
  double linkRate(int64_t ranks) const;
  double secondsOfAllToAll(const Transfer &transfer, const Spread &spread) const;
  double secondsInMemory(const Transfer &transfer) const;

  const Fabric &fabric;
  const Constants &constants;
};

/// Bytes that a rank's library keeps for a communicator of `spread`: buffers of its channels (runtime/abi/GpuMemory.h).
double communicatorBytes(const Spread &spread);
/// Bytes of NCCL's buffers for rows of experts to and from `peers` other ranks of `spread`, the nearest first.
double peerBytes(const Spread &spread, int64_t peers);
/// Bytes of NCCL's buffers for messages of pipelines: one channel to each of `peers`, and one back.
double messageBytes(const Spread &spread, int64_t peers);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_COLLECTIVES_H
