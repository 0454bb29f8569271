//===- Cluster.h - The machines of a training run
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups of equal nodes, what is in them, and the switches that join them, as a tree.
// Made from the name of a preset ("8xh100") or from a file (ClusterFile.h). Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_CLUSTER_CLUSTER_H
#define DTCC_PLANNER_CLUSTER_CLUSTER_H

#include "planner/cost/Collectives.h"
#include <optional>

namespace dtcc::cost {

struct DeviceGroup {
  Device device;
  int64_t count = 1;
};

/// `count` equal nodes.
struct NodeGroup {
  std::string name;
  int64_t count = 1;
  std::vector<DeviceGroup> devices;
  /// Joins the devices of a node.
  Link link;
  /// Ports to other nodes, of `port` each.
  Link port;
  int64_t ports = 0;
  double hostMemoryBytes = 0, nvmeBytes = 0, nvmeBytesPerSecond = 0;
  /// Dollars an hour of one node; 0: the sum of its devices.
  double pricePerHour = 0;
  /// Times that devices and hosts need of what the cost model says (dtcc-plan calibrate --runs).
  double deviceScale = 1, hostScale = 1;

  int64_t devicesPerNode() const;
  double price() const;
};

/// Joins groups of nodes and other switches below it.
struct Switch {
  std::string name;
  std::vector<std::string> joins;
  Link link;
  int64_t ports = 1;
};

struct Cluster {
  std::string name;
  std::vector<NodeGroup> nodes;
  std::vector<Switch> switches;

  int64_t devices() const;
  double pricePerHour() const;
  bool isUniform() const { return nodes.size() == 1 && nodes[0].devices.size() == 1; }
  /// Links between the devices of the first kind of a group.
  Fabric fabric(size_t group = 0) const;
  /// Links between the devices of the `kind`-th kind of a group. Devices of other kinds in the node are not counted.
  Fabric fabric(size_t group, size_t kind) const;
  /// A device's share of its host, in a group.
  HostSide host(size_t group = 0) const;
};

/// Devices of one kind, as they stand in one group of nodes.
struct DeviceKind {
  Device device;
  Fabric fabric;
  HostSide host;
  int64_t devices = 0;
};
/// All kinds of a cluster, those of each group of nodes apart; one of a uniform one.
std::vector<DeviceKind> kindsOf(const Cluster &cluster);
/// "8 h100-sxm and 8 a100-80".
std::string kindsText(const std::vector<DeviceKind> &kinds);

/// "h100", "8xh100", "2x8xh100" or "cpu:4", the presets of Devices.def in the nodes that their
/// makers sell. Empty, and `error` says why, otherwise.
std::optional<Cluster> parseCluster(std::string_view text, std::string &error);

/// This machine as `ranks` ranks that share `cores` cores and `memory` bytes, in figures of the
/// preset of a core; with more ranks than cores they take turns, and wait longer for each other.
Cluster thisMachine(int64_t ranks, int64_t cores, double memory);

/// Returns an error in the switches of `cluster`, or "": an unknown name, a name that two
/// switches join, a ring, or an unconnected group. `place` becomes the name at fault.
std::string checkJoins(const Cluster &cluster, std::string &place);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_CLUSTER_CLUSTER_H
