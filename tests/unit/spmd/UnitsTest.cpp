//===- UnitsTest.cpp - Which states are gathered and reduced together
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/partition/Units.h"
#include "planner/cost/BucketSize.h"
#include "planner/parallelism/StateTable.h"
#include "gtest/gtest.h"

using namespace dtcc::spmd;

namespace {

/// States by one letter of signature each, of `bytes`.
std::vector<UnitMember> members(const std::string &letters, double bytes = 100) {
  std::vector<UnitMember> result;
  for (size_t i = 0; i < letters.size(); ++i)
    result.push_back({std::to_string(i), letters.substr(i, 1), bytes});
  return result;
}

std::vector<size_t> cut(const std::string &letters, double least) { return unitsByBlock(members(letters), least); }

TEST(UnitsTest, BlocksRepeat) {
  using Numbers = std::vector<size_t>;
  EXPECT_EQ(cut("", 1), Numbers{});
  EXPECT_EQ(cut("e", 1), Numbers{0});
  // Embedding, three blocks, head.
  EXPECT_EQ(cut("eabcabcabch", 1), (Numbers{0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4}));
  // The layers after the last block begin like a block.
  EXPECT_EQ(cut("eabcabcab", 1), (Numbers{0, 1, 1, 1, 2, 2, 2, 3, 4}));
  // Two kinds of blocks, an encoder's and a decoder's.
  EXPECT_EQ(cut("eababfcdcdcdh", 1), (Numbers{0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6, 7}));
  // Small blocks are joined: two of 200 bytes have 300; all of them are no block at all.
  EXPECT_EQ(cut("abababab", 300), (Numbers{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(cut("ababab", 10000), (Numbers{0, 0, 0, 0, 0, 0}));
}

TEST(UnitsTest, SmallStatesJoin) {
  std::vector<UnitMember> states = members("eabcabcsh");
  states[7].bytes = 1;
  // The scale between the last block and the head joins the block, the head is a unit.
  EXPECT_EQ(unitsByBlock(states, 50), (std::vector<size_t>{0, 1, 1, 1, 2, 2, 2, 2, 3}));
  // In front a small state waits for the first large one.
  states = members("xyz");
  states[0].bytes = 1;
  EXPECT_EQ(unitsByBlock(states, 50), (std::vector<size_t>{0, 0, 1}));
}

TEST(UnitsTest, BySize) {
  EXPECT_EQ(unitsBySize(members("abcde"), 200), (std::vector<size_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(unitsBySize(members("abc"), 50), (std::vector<size_t>{0, 1, 2}));
}

TEST(UnitsTest, Names) {
  EXPECT_EQ(unitName({"h.1.attn.w", "h.1.attn.b"}), "h.1.attn");
  EXPECT_EQ(unitName({"h.1.w", "h.10.b"}), "h");
  EXPECT_EQ(unitName({"wte", "wpe"}), "wte .. wpe");
  EXPECT_EQ(unitName({"wte"}), "wte");
}

/// With buckets of sqrt(total * latency), starting them takes as long as the last one.
TEST(UnitsTest, BucketSize) {
  double total = 500e6, latency = 15e3, bucket = dtcc::cost::bucketBytes(total, latency);
  EXPECT_NEAR(total / bucket * latency, bucket, 1e-6 * bucket);
}

/// The ZeRO paper's table: 4 + 4 + 8 bytes a parameter in f32.
TEST(UnitsTest, StageBytes) {
  const double kWhole = 4, kShare = 1;
  const double expected[][3] = {{kWhole, kWhole, 2 * kWhole},
                                {kWhole, kWhole, 2 * kShare},
                                {kWhole, kShare, 2 * kShare},
                                {kShare, kShare, 2 * kShare}};
  for (int64_t stage = 0; stage <= dtcc::plan::kLastStage; ++stage) {
    dtcc::plan::StateBytes bytes = dtcc::plan::stateBytes(stage, 4, 2, 4);
    EXPECT_EQ(bytes.parameters, expected[stage][0]) << stage;
    EXPECT_EQ(bytes.gradients, expected[stage][1]) << stage;
    EXPECT_EQ(bytes.slots, expected[stage][2]) << stage;
  }
}

/// Gradients in bf16 have half the bytes, whole or in shards; nothing else changes.
TEST(UnitsTest, StageBytesOfNarrowGradients) {
  for (int64_t stage = 0; stage <= dtcc::plan::kLastStage; ++stage) {
    dtcc::plan::StateBytes wide = dtcc::plan::stateBytes(stage, 4, 2, 4, /*copy=*/2);
    dtcc::plan::StateBytes narrow = dtcc::plan::stateBytes(stage, 4, 2, 4, /*copy=*/2, dtcc::plan::GradientType::BF16);
    EXPECT_EQ(narrow.gradients, wide.gradients / 2) << stage;
    EXPECT_EQ(narrow.parameters, wide.parameters) << stage;
    EXPECT_EQ(narrow.slots, wide.slots) << stage;
  }
}

/// With a compute copy of two bytes: the masters are shared from stage 1 on, the copy is whole until nothing keeps it.
TEST(UnitsTest, StageBytesOfCopies) {
  const double expected[] = {4 + 2, 1 + 2, 1 + 2, 1};
  for (int64_t stage = 0; stage <= dtcc::plan::kLastStage; ++stage) {
    dtcc::plan::StateBytes bytes = dtcc::plan::stateBytes(stage, 4, 2, 4, /*copy=*/2);
    EXPECT_EQ(bytes.parameters, expected[stage]) << stage;
    EXPECT_EQ(bytes.gradients, dtcc::plan::stateBytes(stage, 4, 2, 4).gradients) << stage;
    EXPECT_EQ(bytes.slots, dtcc::plan::stateBytes(stage, 4, 2, 4).slots) << stage;
  }
}

} // namespace
