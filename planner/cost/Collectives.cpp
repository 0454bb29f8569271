//===- Collectives.cpp - Seconds of communication
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cost/Collectives.h"
#include "runtime/abi/GpuMemory.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dtcc::cost {

namespace {
enum class Algorithm { Ring, Tree, Switch };
struct AlgorithmRow {
  Algorithm algorithm;
  double base, hop, networkHop, share, networkShare, ramp;
};
constexpr AlgorithmRow kAlgorithms[] = {
#define DTCC_COLLECTIVE_ALGORITHM(algorithm, protocol, base, hop, networkHop, share, networkShare, ramp)               \
  {Algorithm::algorithm, base * 1e-6, hop * 1e-6, networkHop * 1e-6, share, networkShare, ramp},
#include "planner/cost/CollectiveAlgorithms.def"
};

/// Fewest ranks of a node whose sums the switch makes: NVLS starts at 5 on H200.
constexpr int64_t kSwitchRanks = 5;

/// How often a ring passes round, which is also how often the bytes travel.
double rounds(CollectiveKind kind) { return infoOf(kind).traffic == Traffic::TwiceAround ? 2 : 1; }

double latencyOf(const AlgorithmRow &row, CollectiveKind kind, const Spread &spread) {
  double n = double(spread.nodes * spread.ranksPerNode), nodes = double(spread.nodes);
  if (row.algorithm == Algorithm::Ring) {
    double between = spread.nodes > 1 ? rounds(kind) * (nodes - 1) : 0;
    return row.base + (rounds(kind) * (n - 1) - between) * row.hop + between * row.networkHop;
  }
  if (row.algorithm == Algorithm::Tree)
    return row.base + 2 * (double(spread.ranksPerNode - 1) * row.hop + std::log2(nodes) * row.networkHop);
  return row.base + row.hop + 2 * std::log2(nodes) * row.networkHop;
}

bool applies(const AlgorithmRow &row, CollectiveKind kind, const Spread &spread, const Fabric &fabric) {
  if (row.algorithm == Algorithm::Ring)
    return true;
  if (infoOf(kind).traffic != Traffic::TwiceAround)
    return false;
  return row.algorithm == Algorithm::Tree || (fabric.switchSums && spread.ranksPerNode >= kSwitchRanks);
}
} // namespace

Fabric fabricOf(const Device &device, int64_t ranksPerNode) {
  Fabric fabric;
  // A rack of NVLink joins more than a node does.
  fabric.domain = ranksPerNode > 0 ? std::max(ranksPerNode, device.domain > 8 ? device.domain : 1) : device.domain;
  fabric.link = device.link;
  fabric.network = device.network;
  fabric.switchSums =
      device.architecture >= Architecture::Hopper && device.architecture <= Architecture::BlackwellUltra;
  fabric.sharedMemory = device.architecture == Architecture::Cpu;
  return fabric;
}

Spread spreadOf(const Group &group, int64_t domain) {
  Spread spread;
  spread.ranksPerNode = std::clamp<int64_t>(domain / std::max<int64_t>(group.stride, 1), 1, group.ranks);
  spread.nodes = (group.ranks + spread.ranksPerNode - 1) / spread.ranksPerNode;
  return spread;
}

/// More devices than these have a switch (DGX-2 has 16).
constexpr int64_t kMeshDevices = 8;

double Collectives::linkRate(int64_t ranks) const {
  double rate = fabric.link.bytesPerSecond;
  if (fabric.link.peers == 0 || fabric.domain > kMeshDevices || ranks < 2)
    return rate;
  return rate * std::min(1.0, double(ranks - 1) / double(std::min<int64_t>(fabric.link.peers, fabric.domain - 1)));
}

/// Bytes of which the start of a collective is a small part.
constexpr double kLarge = 1e9;

double Collectives::gatherRate(int64_t ranks) const {
  return kLarge / seconds({CollectiveKind::AllGather, kLarge, {std::max<int64_t>(2, ranks), 1}});
}

double Collectives::latencyBytes(int64_t ranks) const {
  const Group near{std::max<int64_t>(2, std::min(ranks, fabric.domain)), 1};
  const double start = seconds({CollectiveKind::AllGather, 1, near});
  return start * kLarge / (seconds({CollectiveKind::AllGather, kLarge, near}) - start);
}

double Collectives::busRate(const Spread &spread) const {
  double inside = linkRate(spread.ranksPerNode) * constants.nvlink;
  double between = double(spread.ranksPerNode) * fabric.network.bytesPerSecond * constants.network;
  if (spread.nodes == 1)
    return inside;
  return spread.ranksPerNode == 1 ? between : std::min(inside, between);
}

double Collectives::secondsOfAllToAll(const Transfer &transfer, const Spread &spread) const {
  double n = double(transfer.group.ranks), nodes = double(spread.nodes);
  double inside =
      transfer.bytes * double(spread.ranksPerNode - 1) / n / (linkRate(spread.ranksPerNode) * constants.nvlink);
  double outside = transfer.bytes * (n - double(spread.ranksPerNode)) / n /
                   (fabric.network.bytesPerSecond * constants.network * (1 - constants.allToAllNodes / nodes));
  // Expected number of nodes that the copies of a row go to, divided by the copies.
  outside *= nodes * (1 - std::pow(1 - 1 / nodes, transfer.copies)) / transfer.copies;
  return constants.collectiveLaunch + std::max(inside, outside);
}

/// Seconds in which a rank's data passes through memory: once, and twice for a reduction.
double Collectives::secondsInMemory(const Transfer &transfer) const {
  double part = double(transfer.group.ranks - 1) / double(transfer.group.ranks);
  double moved = rounds(transfer.kind) * part * transfer.bytes;
  return fabric.link.latencySeconds + moved / (fabric.link.bytesPerSecond * constants.nvlink);
}

double Collectives::seconds(const Transfer &transfer) const {
  Traffic traffic = infoOf(transfer.kind).traffic;
  if (transfer.group.ranks <= 1 || transfer.bytes <= 0 || traffic == Traffic::None)
    return 0;
  // All wait for those whose neighbour is on another node.
  if (traffic == Traffic::ToNext)
    return secondsToSend(transfer.bytes, spreadOf(transfer.group, fabric.domain).nodes > 1
                                             ? std::max(transfer.group.stride, fabric.domain)
                                             : transfer.group.stride);
  if (fabric.sharedMemory && transfer.group.ranks * transfer.group.stride <= fabric.domain)
    return secondsInMemory(transfer);
  Spread spread = spreadOf(transfer.group, fabric.domain);
  if (traffic == Traffic::EachToEach || traffic == Traffic::ToPicked)
    return secondsOfAllToAll(transfer, spread);
  double n = double(transfer.group.ranks);
  double shortness = constants.rampFactor * constants.rampBytes / (transfer.bytes + constants.rampBytes);
  double best = std::numeric_limits<double>::infinity();
  for (const AlgorithmRow &row : kAlgorithms) {
    if (!applies(row, transfer.kind, spread, fabric))
      continue;
    double rate = busRate(spread) * (spread.nodes > 1 ? row.networkShare : row.share);
    // A tree and a switch move everything up and down, a ring all but its own part.
    double part = row.algorithm == Algorithm::Tree ? 1 : (n - 1) / n;
    double moved = rounds(transfer.kind) * part * transfer.bytes;
    best = std::min(best, constants.collectiveLatency * latencyOf(row, transfer.kind, spread) +
                              moved / rate * (1 + row.ramp * shortness));
  }
  return constants.collectiveLaunch + best;
}

double Collectives::secondsToSend(double bytes, const Hop &hop) const {
  if (bytes <= 0)
    return 0;
  const bool isNear = hop.isWithin(fabric.domain);
  if (fabric.sharedMemory && isNear)
    return fabric.link.latencySeconds + bytes / (fabric.link.bytesPerSecond * constants.nvlink);
  if (isNear)
    return constants.sendLatency + bytes / std::min(fabric.link.bytesPerSecond * constants.sendLink, linkRate(2));
  double rate = fabric.network.bytesPerSecond;
  if (fabric.sharedPorts && hop.apart < fabric.domain)
    rate = std::min(fabric.portBytesPerSecond, rate * double(fabric.domain) / double(std::max<int64_t>(1, hop.width)));
  return constants.sendLatency + bytes / (rate * constants.sendNetwork);
}

double communicatorBytes(const Spread &spread) {
  return double(gpu_memory::groupBytes(spread.nodes * spread.ranksPerNode, spread.ranksPerNode > 1));
}

/// `bytes(withinNode)` for each of `peers` other ranks, the nearest first.
template <typename Bytes> static double bytesOfPeers(const Spread &spread, int64_t peers, Bytes &&bytes) {
  int64_t near = std::min(peers, spread.ranksPerNode - 1);
  return double(near * bytes(/*withinNode=*/true) + (peers - near) * bytes(/*withinNode=*/false));
}

double peerBytes(const Spread &spread, int64_t peers) { return bytesOfPeers(spread, peers, gpu_memory::peerBytes); }

double messageBytes(const Spread &spread, int64_t peers) {
  return bytesOfPeers(spread, peers, [](bool withinNode) {
    return gpu_memory::messageBytes(/*incoming=*/true, withinNode) +
           gpu_memory::messageBytes(/*incoming=*/false, withinNode);
  });
}

} // namespace dtcc::cost
