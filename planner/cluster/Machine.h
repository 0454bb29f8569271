//===- Machine.h - What a rank can do in a second
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost model as searches over placements see it: one rank, its device and what joins
// it to the others. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_CLUSTER_MACHINE_H
#define DTCC_PLANNER_CLUSTER_MACHINE_H

#include "planner/cluster/Cluster.h"

namespace dtcc::cost {

struct Machine {
  /// Device of each of `ranks` ranks, while all of them work.
  Device device;
  Fabric fabric;
  /// The device's share of its host, if host memory is separate from device memory.
  HostSide host;
  int64_t ranks = 1;
  Constants constants;

  /// The devices of the first kind of a cluster, as many as the cluster has of all kinds.
  static Machine of(const Cluster &cluster, const Constants &constants = {});
  /// One for each kind of devices of a cluster, with as many ranks as there are of it.
  static std::vector<Machine> eachOf(const Cluster &cluster, const Constants &constants = {});
  /// thisMachine(ranks, cores, memory).
  static Machine cpu(int64_t ranks, int64_t cores, double memory);

  bool isCpu() const { return device.architecture == Architecture::Cpu; }
  /// Memory that a rank may use; 0: not known.
  double memoryBytes() const { return device.memoryBytes; }
  /// Seconds of a kernel, by a roofline.
  double secondsForWork(double flops, double bytes, Width width = Width::F32) const;
  double secondsForTransfer(const Transfer &transfer) const;
  /// Seconds of an exchange in which each rank of `group` sends `bytes`; 0 for no bytes.
  double secondsForSent(double bytes, const Group &group) const;
  /// Seconds of one of the messages of a hop, all of which are sent at a time.
  double secondsToSend(double bytes, const Hop &hop) const;
  /// Factor by which a rank's time grows because it waits for the slowest rank.
  double straggling() const;
  /// Bytes that the ranks of a node gather from each other in the time in which that starts: fewer are not worth a
  /// collective of their own. Where a node is one rank, of two nodes.
  double latencyBytes() const;
  /// Bytes that all ranks gather from each other in the time of one FLOP of a large product of 16 bits.
  double bytesPerFlop() const;
  /// A copy of the machine on which starting a collective costs nothing.
  Machine withoutLatency() const;
};

} // namespace dtcc::cost

#endif // DTCC_PLANNER_CLUSTER_MACHINE_H
