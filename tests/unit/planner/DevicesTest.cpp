//===- DevicesTest.cpp - Presets and clusters by name
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/cluster/Cluster.h"
#include "runtime/abi/console/NearestName.h"
#include <gtest/gtest.h>

using namespace dtcc::cost;

TEST(Devices, AllPresetsAreWhole) {
  for (const std::string &name : deviceNames()) {
    const Device *device = findDevice(name);
    ASSERT_TRUE(device) << name;
    EXPECT_GT(device->peak(Width::F32), 0) << name;
    EXPECT_GT(device->memoryBytes, 0) << name;
    EXPECT_GT(device->memoryBytesPerSecond, 0) << name;
    // A row that names no link of Links.def would have none.
    for (const Link *link : {&device->link, &device->hostLink, &device->network})
      EXPECT_GT(link->bytesPerSecond, 0) << name;
    EXPECT_GE(device->units, 1) << name;
  }
}

TEST(Devices, FiguresOfDataSheets) {
  const Device &h100 = *findDevice("H100-80GB"), &a100 = *findDevice("a100-40");
  EXPECT_DOUBLE_EQ(h100.peak(Width::B16), 989e12);
  EXPECT_DOUBLE_EQ(h100.peak(Width::F8), 1979e12);
  EXPECT_DOUBLE_EQ(h100.link.bytesPerSecond, 450e9);
  EXPECT_DOUBLE_EQ(h100.network.bytesPerSecond, 400e9 / 8);
  EXPECT_DOUBLE_EQ(h100.pricePerHour, 3.5);
  EXPECT_DOUBLE_EQ(a100.memoryBytes, 40 * 0x1p30);
  EXPECT_DOUBLE_EQ(a100.pricePerHour, 2);
  EXPECT_EQ(findDevice("h1000"), nullptr);
  EXPECT_EQ(dtcc::nearestName("h200x", deviceNames()), "h200");
}

TEST(Cluster, Names) {
  std::string error;
  auto cluster = parseCluster("2x8xh100", error);
  ASSERT_TRUE(cluster) << error;
  EXPECT_EQ(cluster->devices(), 16);
  EXPECT_DOUBLE_EQ(cluster->pricePerHour(), 56);
  EXPECT_EQ(cluster->fabric().domain, 8);
  // More than a node has becomes nodes; a rack of NVLink stays one domain.
  EXPECT_EQ(parseCluster("64xh100", error)->nodes[0].count, 8);
  EXPECT_EQ(parseCluster("16x4xgb200", error)->fabric().domain, 72);
  EXPECT_EQ(parseCluster("cpu:4", error)->devices(), 4);
  EXPECT_EQ(parseCluster("l4", error)->devices(), 1);
}

TEST(Cluster, BadNames) {
  std::string error;
  EXPECT_FALSE(parseCluster("8xh10", error));
  EXPECT_EQ(error, "a cluster must be NODESxDEVICESxKIND, DEVICESxKIND, cpu:RANKS or a file, got: 8xh10; did you mean "
                   "h100?");
  for (const char *text :
       {"", "x", "8x", "0xh100", "-1xh100", "2x2x2xh100", "cpu:0", "cpu:many", "8xh100x", "99999999999xl4"})
    EXPECT_FALSE(parseCluster(text, error)) << text;
  EXPECT_FALSE(parseCluster("12xh100", error));
  EXPECT_EQ(error, "more than a node of 8 must be whole nodes, got: 12xh100; 2x6xh100 are two nodes");
}
