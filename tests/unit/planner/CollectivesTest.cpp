//===- CollectivesTest.cpp - Communication against measured sweeps
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/cost/Collectives.h"
#include "planner/cluster/Machine.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dtcc;
using namespace dtcc::cost;

namespace {
double busGBs(const char *device, double bytes, int64_t ranks, CollectiveKind kind = CollectiveKind::AllReduce) {
  Fabric fabric = fabricOf(*findDevice(device), 8);
  Constants constants = startConstants();
  double seconds = Collectives(fabric, constants).seconds({kind, bytes, {ranks, 1}});
  double rounds = kind == CollectiveKind::AllReduce ? 2 : 1;
  return rounds * double(ranks - 1) / double(ranks) * bytes / seconds / 1e9;
}
} // namespace

/// Measured, Azure/AI-benchmarking-guide (ND A100 v4, H100 v5) and stas00/ml-engineering (H200): bus
/// bandwidth of an all-reduce over the 8 devices of a node.
TEST(Collectives, SweepsInsideANode) {
  struct {
    const char *device;
    double bytes, measured, within;
  } rows[] = {{"a100", 16777216, 109.2, 0.10},   {"a100", 67108864, 166.6, 0.10},  {"a100", 268435456, 213.9, 0.05},
              {"a100", 1073741824, 228.1, 0.05}, {"h100", 67108864, 361.8, 0.15},  {"h100", 268435456, 423.4, 0.05},
              {"h100", 1073741824, 466.4, 0.05}, {"h200", 268435456, 436.1, 0.05}, {"h200", 4294967296, 477.4, 0.05},
              {"h200", 262144, 14.8, 0.20},      {"b200", 8589934592, 839.1, 0.15}};
  for (const auto &row : rows)
    EXPECT_NEAR(std::log(busGBs(row.device, row.bytes, 8) / row.measured), 0, row.within) << row.device << row.bytes;
}

/// all_gather 361 and reduce_scatter 363 GB/s on 8 H200: the switch sums, and so helps, all-reduces alone.
TEST(Collectives, GathersUseNoSwitch) {
  EXPECT_NEAR(busGBs("h200", 17179869184, 8, CollectiveKind::AllGather) / 361.4, 1, 0.03);
  EXPECT_NEAR(busGBs("h200", 17179869184, 8, CollectiveKind::ReduceScatter) / 362.9, 1, 0.03);
  EXPECT_NEAR(busGBs("h200", 17179869184, 4) / 363, 1, 0.03); // four ranks sum in no switch either
}

/// stas00/ml-engineering, 8 MI300X that have wires to each other: 47.7 GB/s between two, 313 among all. Four of a
/// DGX-1 use three of the four neighbours of each; behind a switch two have the whole rate.
TEST(Collectives, FewDevicesOfAMeshUseFewWires) {
  EXPECT_NEAR(busGBs("mi300x", 4294967296, 2) / 47.7, 1, 0.15);
  EXPECT_NEAR(busGBs("mi300x", 4294967296, 8) / 312.9, 1, 0.15);
  EXPECT_NEAR(busGBs("v100-16", 4e9, 4) / busGBs("v100-16", 4e9, 8), 0.75, 0.02);
  EXPECT_NEAR(busGBs("a100", 4e9, 2) / busGBs("a100", 4e9, 8), 1, 0.02);
  Constants constants;
  Device dgx2 = *findDevice("v100-32");
  auto rate = [&](int64_t perNode) { return Collectives(fabricOf(dgx2, perNode), constants).busRate({1, 2}); };
  EXPECT_NEAR(rate(16) / rate(4), 3, 1e-9); // a switch joins sixteen
}

/// A shift within a node takes a message's time; over two nodes all ranks wait for the two whose neighbours are on the
/// other node.
TEST(Collectives, ShiftsWaitForTheFarthestNeighbour) {
  Constants constants;
  Fabric fabric = fabricOf(*findDevice("h100"), 8);
  Collectives collectives(fabric, constants);
  auto shift = [&](int64_t ranks, int64_t stride) {
    return collectives.seconds({CollectiveKind::Shift, 1e8, {ranks, stride}});
  };
  EXPECT_DOUBLE_EQ(shift(8, 1), collectives.secondsToSend(1e8, 1));
  EXPECT_DOUBLE_EQ(shift(16, 1), collectives.secondsToSend(1e8, 8));
  EXPECT_DOUBLE_EQ(shift(2, 16), collectives.secondsToSend(1e8, 16));
  EXPECT_GT(shift(16, 1), 2 * shift(8, 1));
}

/// Two stages of two ranks each lie on a node of four: every second boundary leaves it, and its two senders share the
/// node's only port.
TEST(Collectives, MessagesBetweenStagesTakeTheLinkBetweenThem) {
  Constants constants;
  Fabric fabric = fabricOf(*findDevice("h100"), 4);
  Collectives collectives(fabric, constants);
  auto behind = [&](int64_t stage) { return collectives.secondsToSend(1e8, Hop{2 * stage, 2, 2}); };
  EXPECT_DOUBLE_EQ(behind(0), collectives.secondsToSend(1e8, 2));
  EXPECT_DOUBLE_EQ(behind(1), collectives.secondsToSend(1e8, 4));
  EXPECT_DOUBLE_EQ(behind(2), behind(0));
  fabric.sharedPorts = true;
  fabric.portBytesPerSecond = 4 * fabric.network.bytesPerSecond;
  double latency = collectives.secondsToSend(1e-9, 4);
  EXPECT_NEAR(behind(1) - latency, (collectives.secondsToSend(1e8, 4) - latency) / 2, 1e-9);
  fabric.portBytesPerSecond = fabric.network.bytesPerSecond;
  EXPECT_DOUBLE_EQ(behind(1), collectives.secondsToSend(1e8, 4));
}

TEST(Collectives, GroupsAndTheirNodes) {
  EXPECT_EQ(spreadOf({8, 1}, 8).nodes, 1);
  EXPECT_EQ(spreadOf({16, 1}, 8).nodes, 2);
  Spread across = spreadOf({4, 8}, 8); // one rank of each node
  EXPECT_EQ(across.nodes, 4);
  EXPECT_EQ(across.ranksPerNode, 1);
  EXPECT_EQ(spreadOf({4, 2}, 8).nodes, 1);
  EXPECT_EQ(spreadOf({64, 1}, 72).nodes, 1);
}

TEST(Collectives, BytesThatAreWorthACollective) {
  std::string error;
  std::optional<Cluster> cluster = parseCluster("2x8xh100", error);
  ASSERT_TRUE(cluster) << error;
  Machine machine = Machine::of(*cluster);
  Group node{8, 1};
  double start = machine.secondsForTransfer({CollectiveKind::AllGather, 1, node}), bytes = machine.latencyBytes();
  double both = machine.secondsForTransfer({CollectiveKind::AllGather, bytes, node});
  EXPECT_GT(both, 2 * start) << "as long to move as to start, and short messages move slower";
  EXPECT_LT(both, 3.5 * start);
  machine.fabric.link.bytesPerSecond /= 10;
  EXPECT_NEAR(machine.latencyBytes(), bytes / 10, 0.1 * bytes / 10);
}

TEST(Collectives, RowsSayWhatFitsAGroup) {
  for (uint32_t op = 0; op < kCollectives; ++op) {
    auto kind = static_cast<CollectiveKind>(op);
    EXPECT_EQ(findCollective(mnemonicOf(kind)), kind);
    const CollectiveInfo &info = infoOf(kind);
    auto count = [](Extent extent) { return extent == Extent::Part ? 3 : extent == Extent::Whole ? 12 : 0; };
    int in = count(info.in), out = count(info.out);
    EXPECT_TRUE(info.fits(in, out, 4)) << info.mnemonic;
    EXPECT_FALSE(info.fits(in, out + 1, 4)) << info.mnemonic;
    EXPECT_EQ(info.larger(in, out), std::max(in, out)) << info.mnemonic;
  }
  EXPECT_FALSE(infoOf(CollectiveKind::AllToAll).fits(13, 13, 4));
  EXPECT_EQ(findCollective("all_reduces"), std::nullopt);
  for (Reduction reduction : {Reduction::Sum, Reduction::Max, Reduction::Min})
    EXPECT_EQ(findReduction(mnemonicOf(reduction)), reduction);
  EXPECT_EQ(findReduction("mean"), std::nullopt);
}

TEST(Collectives, MoreCostsMore) {
  Fabric fabric = fabricOf(*findDevice("h100"), 8);
  Constants constants;
  Collectives collectives(fabric, constants);
  for (uint32_t op = 0; op < kCollectives; ++op) {
    auto kind = static_cast<CollectiveKind>(op);
    EXPECT_EQ(collectives.seconds({kind, 1e6, {1, 1}}), 0);
    EXPECT_EQ(collectives.seconds({kind, 0, {8, 1}}), 0);
    EXPECT_EQ(collectives.seconds({kind, 1e6, {8, 1}}) > 0, infoOf(kind).traffic != Traffic::None);
    double last = 0;
    for (double bytes = 1; bytes < 1e12; bytes *= 1.7) {
      double now = collectives.seconds({kind, bytes, {8, 1}});
      EXPECT_GE(now, last) << bytes;
      last = now;
      // Between nodes no less than inside one.
      EXPECT_GE(collectives.seconds({kind, bytes, {8, 8}}), now) << bytes;
    }
  }
  EXPECT_GT(communicatorBytes({1, 8}), 500e6);
  EXPECT_LT(communicatorBytes({1, 8}), 700e6);
  EXPECT_EQ(communicatorBytes({1, 1}), 0);
  // Seven of a node: NCCL issue 1685. Those on other nodes need few channels, and come last.
  EXPECT_NEAR(peerBytes({1, 8}, 7), 3.3e9, 0.6e9);
  EXPECT_EQ(peerBytes({2, 4}, 2), 2 * peerBytes({1, 8}, 1));
  EXPECT_LT(peerBytes({8, 1}, 2), 0.1 * peerBytes({1, 8}, 2));
  EXPECT_EQ(peerBytes({1, 1}, 0), 0);
  // Messages have a quarter of the channels of a node, and all of those between nodes.
  EXPECT_EQ(messageBytes({1, 8}, 2), peerBytes({1, 8}, 2) / 4);
  EXPECT_EQ(messageBytes({2, 1}, 1), peerBytes({2, 1}, 1));
}
