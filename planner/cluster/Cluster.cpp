//===- Cluster.cpp - The machines of a training run
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cluster/Cluster.h"
#include "runtime/abi/console/NearestName.h"
#include <algorithm>
#include <charconv>
#include <map>

namespace dtcc::cost {

int64_t NodeGroup::devicesPerNode() const {
  int64_t sum = 0;
  for (const DeviceGroup &group : devices)
    sum += group.count;
  return sum;
}

double NodeGroup::price() const {
  double sum = 0;
  for (const DeviceGroup &group : devices)
    sum += double(group.count) * group.device.pricePerHour;
  return pricePerHour > 0 ? pricePerHour : sum;
}

int64_t Cluster::devices() const {
  int64_t sum = 0;
  for (const NodeGroup &group : nodes)
    sum += group.count * group.devicesPerNode();
  return sum;
}

double Cluster::pricePerHour() const {
  double sum = 0;
  for (const NodeGroup &group : nodes)
    sum += double(group.count) * group.price();
  return sum;
}

Fabric Cluster::fabric(size_t group) const {
  const NodeGroup &node = nodes[group];
  Fabric fabric = fabricOf(node.devices[0].device, node.devicesPerNode());
  if (node.link.bytesPerSecond > 0)
    fabric.link = node.link;
  if (node.ports > 0) {
    fabric.network = node.port;
    fabric.network.bytesPerSecond *= double(node.ports) / double(node.devicesPerNode());
    fabric.sharedPorts = node.ports < node.devicesPerNode();
    fabric.portBytesPerSecond = node.port.bytesPerSecond;
  }
  return fabric;
}

Fabric Cluster::fabric(size_t group, size_t kind) const {
  const NodeGroup &node = nodes[group];
  if (node.devices.size() == 1)
    return fabric(group);
  Fabric own = fabricOf(node.devices[kind].device, node.devices[kind].count);
  Fabric whole = fabric(group);
  own.network = whole.network;
  own.sharedPorts = whole.sharedPorts;
  own.portBytesPerSecond = whole.portBytesPerSecond;
  if (node.link.bytesPerSecond > 0)
    own.link = node.link;
  return own;
}

HostSide Cluster::host(size_t group) const {
  const NodeGroup &node = nodes[group];
  double devices = double(node.devicesPerNode());
  return {node.hostMemoryBytes / devices, node.nvmeBytes / devices, node.nvmeBytesPerSecond / devices};
}

std::vector<DeviceKind> kindsOf(const Cluster &cluster) {
  std::vector<DeviceKind> kinds;
  for (size_t group = 0; group < cluster.nodes.size(); ++group)
    for (size_t i = 0; i < cluster.nodes[group].devices.size(); ++i) {
      const DeviceGroup &devices = cluster.nodes[group].devices[i];
      kinds.push_back(
          {devices.device, cluster.fabric(group, i), cluster.host(group), cluster.nodes[group].count * devices.count});
    }
  return kinds;
}

std::string kindsText(const std::vector<DeviceKind> &kinds) {
  std::string text;
  for (const DeviceKind &kind : kinds)
    text += (text.empty() ? "" : " and ") + std::to_string(kind.devices) + " " + kind.device.name;
  return text;
}

static std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 1 || value > (int64_t(1) << 24))
    return std::nullopt;
  return value;
}

std::optional<Cluster> parseCluster(std::string_view text, std::string &error) {
  std::vector<int64_t> counts;
  std::string_view rest = text;
  bool cpu = rest == "cpu" || rest.starts_with("cpu:");
  if (cpu) {
    counts.push_back(rest == "cpu" ? 1 : number(rest.substr(4)).value_or(0));
    rest = "cpu-core";
  }
  for (size_t x; !cpu && counts.size() < 2 && (x = rest.find('x')) != std::string_view::npos;
       rest.remove_prefix(x + 1)) {
    std::optional<int64_t> count = number(rest.substr(0, x));
    if (!count)
      break;
    counts.push_back(*count);
  }
  const Device *device = findDevice(rest);
  if (!device || std::count(counts.begin(), counts.end(), 0)) {
    std::string near = nearestName(rest, deviceNames(/*others=*/true));
    error = "a cluster must be NODESxDEVICESxKIND, DEVICESxKIND, cpu:RANKS or a file, got: " + std::string(text) +
            (device || near.empty() ? "" : "; did you mean " + near + "?");
    return std::nullopt;
  }
  int64_t nodes = 1, devices = counts.empty() ? 1 : counts.back();
  if (counts.size() == 2) {
    nodes = counts[0];
  } else if (devices > device->domain) {
    // More than a node has: as many nodes as it takes.
    int64_t perNode = std::min<int64_t>(device->domain, 8);
    if (devices % perNode != 0) {
      error = "more than a node of " + std::to_string(perNode) + " must be whole nodes, got: " + std::string(text) +
              (devices % 2 == 0 && devices / 2 <= device->domain
                   ? "; 2x" + std::to_string(devices / 2) + "x" + std::string(rest) + " are two nodes"
                   : "");
      return std::nullopt;
    }
    nodes = devices / perNode;
    devices = perNode;
  }
  NodeGroup group;
  group.name = "node";
  group.count = nodes;
  group.devices = {{*device, devices}};
  group.link = device->link;
  group.port = device->network;
  group.ports = devices;
  Cluster cluster;
  cluster.name = text;
  cluster.nodes = {group};
  return cluster;
}

Cluster thisMachine(int64_t ranks, int64_t cores, double memory) {
  Device rank = *findDevice("cpu-core");
  double share = double(cores) / double(std::max<int64_t>(ranks, 1));
  for (double &rate : rank.flopsPerSecond)
    rate *= share;
  rank.memoryBytesPerSecond *= share;
  rank.memoryBytes = memory / double(std::max<int64_t>(ranks, 1));
  rank.link.bytesPerSecond *= std::min(share, 1.0);
  rank.link.latencySeconds *= share < 1 ? 10 : 1;
  NodeGroup node;
  node.name = "this-machine";
  node.devices = {{rank, ranks}};
  node.link = rank.link;
  node.port = rank.network;
  node.ports = 1;
  node.hostMemoryBytes = memory;
  Cluster cluster;
  cluster.name = "cpu:" + std::to_string(ranks);
  cluster.nodes = {node};
  return cluster;
}

std::string checkJoins(const Cluster &cluster, std::string &place) {
  std::map<std::string, std::string> above; // what joins it; empty: nothing does
  for (const NodeGroup &group : cluster.nodes)
    above[group.name];
  for (const Switch &node : cluster.switches)
    above[node.name];
  for (const Switch &node : cluster.switches)
    for (const std::string &name : node.joins) {
      place = name;
      auto found = above.find(name);
      if (found == above.end())
        return "a switch must join groups of nodes or switches, got: " + name;
      if (!found->second.empty())
        return name + " must be joined once, got: by " + found->second + " and by " + node.name;
      found->second = node.name;
    }
  std::string top;
  for (const auto &[name, parent] : above) {
    std::string last = name;
    for (size_t steps = 0; !above[last].empty(); ++steps, last = above[last])
      if (steps > above.size()) {
        place = name;
        return "switches must form a tree, got a ring through " + name;
      }
    place = name;
    if (!top.empty() && last != top)
      return name + " must be joined to the other nodes by switches, got: no way to " + top;
    top = last;
  }
  return "";
}

} // namespace dtcc::cost
