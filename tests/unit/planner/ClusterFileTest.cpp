//===- ClusterFileTest.cpp - Clusters as files, good and bad
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/cluster/ClusterFile.h"
#include <gtest/gtest.h>

using namespace dtcc::cost;

static std::string errorOf(llvm::StringRef text) {
  llvm::Expected<Cluster> cluster = parseClusterFile(text, "c.yaml");
  return cluster ? "none" : llvm::toString(cluster.takeError());
}

static const char *kMixed = R"(version: 1
name: two kinds
links:
  - {name: slow, like: ethernet-25, bandwidth: 20 Gb/s}
devices:
  - {name: half, like: a100-80, memory: 40 GiB, b16: 150 TFLOP/s, price: 1.25 $/h}
nodes:
  - name: old
    count: 2
    devices:
      - {kind: half, count: 4}
    port: slow
    ports: 1
    host-memory: 1 TB
    nvme: 4 TB
    nvme-bandwidth: 7 GB/s
  - name: new
    devices:
      - {kind: h100, count: 8}
    price: 30 $/h
switches:
  - {name: leaf, joins: [old, new], link: infiniband-400, ports: 8}
)";

TEST(ClusterFile, Reads) {
  llvm::Expected<Cluster> cluster = parseClusterFile(kMixed, "c.yaml");
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  EXPECT_EQ(cluster->devices(), 16);
  EXPECT_DOUBLE_EQ(cluster->pricePerHour(), 2 * 4 * 1.25 + 30);
  const NodeGroup &old = cluster->nodes[0];
  EXPECT_DOUBLE_EQ(old.devices[0].device.memoryBytes, 40 * 0x1p30);
  EXPECT_DOUBLE_EQ(old.devices[0].device.peak(Width::B16), 150e12);
  EXPECT_DOUBLE_EQ(old.hostMemoryBytes, 1e12);
  EXPECT_DOUBLE_EQ(cluster->fabric(0).network.bytesPerSecond, 20e9 / 8 / 4);
  EXPECT_DOUBLE_EQ(cluster->fabric(1).network.bytesPerSecond, 50e9);
  EXPECT_EQ(cluster->switches[0].joins.size(), 2u);
}

TEST(ClusterFile, WritesWhatItReads) {
  for (llvm::StringRef name : {"8xh100", "4x8xb200", "cpu:4"}) {
    llvm::Expected<Cluster> cluster = readCluster(name);
    ASSERT_TRUE(bool(cluster));
    std::string text = toYaml(*cluster);
    llvm::Expected<Cluster> again = parseClusterFile(text, "again.yaml");
    ASSERT_TRUE(bool(again)) << text << llvm::toString(again.takeError());
    EXPECT_EQ(toYaml(*again), text);
    EXPECT_EQ(again->devices(), cluster->devices());
  }
}

TEST(ClusterFile, Quantities) {
  auto value = [](llvm::StringRef text, llvm::StringRef unit) {
    llvm::Expected<double> parsed = parseQuantity(text, unit);
    return parsed ? *parsed : (llvm::consumeError(parsed.takeError()), -1);
  };
  EXPECT_DOUBLE_EQ(value("80 GB", "B"), 80e9);
  EXPECT_DOUBLE_EQ(value("80GiB", "B"), 80 * 0x1p30);
  EXPECT_DOUBLE_EQ(value("400 Gb/s", "B/s"), 50e9);
  EXPECT_DOUBLE_EQ(value("1.5e3 us", "s"), 1.5e-3);
  for (llvm::StringRef text : {"80", "GB", "80 GB/s", "-1 GB", "80 gb", "1e999 GB", "nan GB", "80 GB x"})
    EXPECT_EQ(value(text, "B"), -1) << text.str();
}

TEST(ClusterFile, Errors) {
  auto nodes = [](std::string fields) { return "version: 1\nnodes:\n  - " + fields + "\n"; };
  const std::string h100 = "{name: a, devices: [{kind: h100, count: 8}]";
  EXPECT_EQ(errorOf(""), "c.yaml:1:1: a cluster must be a map of fields");
  EXPECT_EQ(errorOf("version: 2\nnodes: []"), "c.yaml:1:10: version must be 1, got: 2");
  EXPECT_EQ(errorOf("version: 1\n"), "c.yaml:1:1: a cluster must have nodes");
  EXPECT_EQ(errorOf(nodes("{name: a, devices: [{kind: h10}]}")),
            "c.yaml:3:32: a device must be one of this file or a known kind, got: h10; did you mean h100?");
  EXPECT_EQ(errorOf(nodes(h100 + ", host-memory: 2}")),
            "c.yaml:3:63: host-memory: a number with a unit of B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB must stand "
            "here, got: 2");
  EXPECT_EQ(errorOf(nodes(h100 + ", nvme-bandwidth: 7 GB}")),
            "c.yaml:3:66: nvme-bandwidth: a number with a unit of B/s, kB/s, MB/s, GB/s, TB/s, Mb/s, Gb/s, Tb/s must "
            "stand here, got: 7 GB");
  EXPECT_EQ(errorOf(nodes(h100 + ", count: 0}")),
            "c.yaml:3:57: count must be a whole number of at least 1 and at most 2^24, got: 0");
  EXPECT_EQ(errorOf(nodes(h100 + ", link: nvlink9}")),
            "c.yaml:3:56: link must be a link of this file or a known one, got: nvlink9; did you mean nvlink2?");
  EXPECT_EQ(errorOf(nodes(h100 + ", host_memory: 2 TB}")),
            "c.yaml:3:63: a group of nodes has no field host_memory; did you mean host-memory?");
  EXPECT_EQ(errorOf(nodes("{devices: []}")), "c.yaml:3:6: a group of nodes must have a name");
  EXPECT_EQ(errorOf(nodes("{name: a}")), "c.yaml:3:6: a group of nodes must have devices");
  EXPECT_EQ(errorOf("version: 1\nversion: 1\n"), "c.yaml:2:1: a key must stand once, got twice: version");
  EXPECT_EQ(errorOf("version: 1\nnodes: [&a {name: b}, *a]\n").substr(0, 7), "c.yaml:");
  EXPECT_EQ(errorOf("version: [1").substr(0, 7), "c.yaml:");
}

TEST(ClusterFile, WrongUnitsAndUnknownNames) {
  auto file = [](std::string rows) {
    return errorOf("version: 1\n" + rows + "\nnodes: [{name: a, devices: [{kind: l4}]}]");
  };
  EXPECT_EQ(file("links: [{name: x, like: ethernet-25, bandwidth: 20 GHz}]"),
            "c.yaml:2:49: bandwidth: a number with a unit of B/s, kB/s, MB/s, GB/s, TB/s, Mb/s, Gb/s, Tb/s must stand "
            "here, got: 20 GHz");
  EXPECT_EQ(file("links: [{name: x, bandwidth: 20 Gb/s, latency: 3 m}]"),
            "c.yaml:2:48: latency: a number with a unit of s, ms, us, ns must stand here, got: 3 m");
  EXPECT_EQ(
      file("links: [{name: x, like: ethernet-26}]"),
      "c.yaml:2:25: like must be a link of this file or a known one, got: ethernet-26; did you mean ethernet-25?");
  EXPECT_EQ(file("links: [{name: x}]"), "c.yaml:2:10: a link must have a bandwidth above 0 or be like a known one");
  EXPECT_EQ(file("devices: [{name: x, like: a100, b16: 150 TB/s}]"),
            "c.yaml:2:38: b16: a number with a unit of GFLOP/s, TFLOP/s, PFLOP/s must stand here, got: 150 TB/s");
  EXPECT_EQ(file("devices: [{name: x, like: y}, {name: y, like: x}]"),
            "c.yaml:2:27: a device must be one of this file or a known kind, got: y");
  EXPECT_EQ(file("devices: [{name: x}]"), "c.yaml:2:12: a device must be like a known kind");
  EXPECT_EQ(file("devices: [{name: x, like: a100, memory: 0 GB}]"),
            "c.yaml:2:12: memory, memory-bandwidth and f32 of a device must be above 0");
  EXPECT_EQ(errorOf("version: 1\nnodes: [{name: a, nvme: 4 TB, devices: [{kind: l4}]}]"),
            "c.yaml:2:25: nvme must come with an nvme-bandwidth above 0");
  EXPECT_EQ(errorOf("version: 1\nnodes: [{name: a, price: 30, devices: [{kind: l4}]}]"),
            "c.yaml:2:26: price: a number with a unit of $/h must stand here, got: 30");
}

TEST(ClusterFile, Joins) {
  std::string two = "version: 1\nnodes:\n  - {name: a, devices: [{kind: l4}]}\n  - {name: b, devices: [{kind: l4}]}\n";
  EXPECT_EQ(errorOf(two), "c.yaml:4:12: b must be joined to the other nodes by switches, got: no way to a");
  auto joined = [&](std::string rows) { return errorOf(two + "switches:\n" + rows); };
  EXPECT_EQ(joined("  - {name: s, link: ethernet-25, joins: [a, b]}\n"), "none");
  EXPECT_EQ(joined("  - {name: s, link: ethernet-25, joins: [a, c]}\n"),
            "c.yaml:6:3: a switch must join groups of nodes or switches, got: c");
  EXPECT_EQ(
      joined("  - {name: s, link: ethernet-25, joins: [a, b]}\n  - {name: t, link: ethernet-25, joins: [s, b]}\n"),
      "c.yaml:4:12: b must be joined once, got: by s and by t");
  EXPECT_EQ(
      joined("  - {name: s, link: ethernet-25, joins: [a, t]}\n  - {name: t, link: ethernet-25, joins: [b, s]}\n"),
      "c.yaml:3:12: switches must form a tree, got a ring through a");
  EXPECT_EQ(joined("  - {name: s, link: ethernet-25, joins: [a, b, s]}\n"),
            "c.yaml:3:12: switches must form a tree, got a ring through a");
  EXPECT_EQ(joined("  - {name: s, link: ethernet-25, joins: []}\n"), "c.yaml:6:6: a switch must join something");
  EXPECT_EQ(joined("  - {name: s, joins: [a, b]}\n"), "c.yaml:6:6: a switch must have a link");
  EXPECT_EQ(joined("  - {name: a, link: ethernet-25, joins: [a, b]}\n"),
            "c.yaml:6:12: names must differ, got twice: a");
}
