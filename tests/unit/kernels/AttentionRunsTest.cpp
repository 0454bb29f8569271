//===- AttentionRunsTest.cpp - Which positions meet on which rank -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/AttentionRuns.h"
#include "runtime/abi/SequenceOrder.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <set>

using namespace dtcc;
using namespace dtcc::rt;

namespace {

std::vector<std::array<int64_t, 3>> listOf(const std::vector<AttentionRun> &runs) {
  std::vector<std::array<int64_t, 3>> list;
  for (const AttentionRun &run : runs)
    list.push_back({run.row, run.count, run.position});
  return list;
}
using List = std::vector<std::array<int64_t, 3>>;

TEST(AttentionRuns, FollowTheOrder) {
  EXPECT_EQ(listOf(attentionRuns(8, 4, 16, 0, 100)), (List{{0, 4, 8}}));
  // 2 ranks: chunks 1 and 2, which are neighbours, and chunks 0 and 3.
  EXPECT_EQ(listOf(attentionRuns(0, 6, 12, 4, 100)), (List{{0, 6, 3}}));
  EXPECT_EQ(listOf(attentionRuns(6, 6, 12, 4, 100)), (List{{0, 3, 0}, {3, 3, 9}}));
  // The whole, by position.
  EXPECT_EQ(listOf(attentionRuns(0, 12, 12, 4, 100)), (List{{6, 3, 0}, {0, 6, 3}, {9, 3, 9}}));
}

TEST(AttentionRuns, LeaveOutWhatPads) {
  EXPECT_EQ(listOf(attentionRuns(6, 6, 12, 4, 10)), (List{{0, 3, 0}, {3, 1, 9}}));
  EXPECT_EQ(listOf(attentionRuns(4, 4, 8, 0, 6)), (List{{0, 2, 4}}));
  EXPECT_TRUE(attentionRuns(6, 2, 8, 0, 5).empty());
}

TEST(AttentionRuns, EveryPositionIsOnOneShard) {
  for (int64_t shards : {1, 2, 3, 8})
    for (int64_t chunks : {int64_t(0), 2 * shards}) {
      std::set<int64_t> seen;
      for (int64_t row = 0; row < 6 * shards; ++row)
        seen.insert(positionOfRow(row, 6 * shards, chunks));
      EXPECT_EQ(seen.size(), static_cast<size_t>(6 * shards));
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), 6 * shards - 1);
      // The padding of a sequence lies at its end.
      EXPECT_EQ(positionOfRow(6 * shards - 1, 6 * shards, chunks), 6 * shards - 1);
    }
}

/// Pairs of a query and a key that it sees, on the busiest of `shards` ranks over the mean.
double imbalance(int64_t shards, int64_t rows, bool zigzag) {
  double most = 0, sum = 0;
  for (int64_t shard = 0; shard < shards; ++shard) {
    double pairs = 0;
    for (int64_t row = 0; row < rows; ++row)
      pairs += 1 + static_cast<double>(positionOfRow(shard * rows + row, shards * rows, zigzag ? 2 * shards : 0));
    most = std::max(most, pairs);
    sum += pairs;
  }
  return most * static_cast<double>(shards) / sum;
}

// As positions come, the last of n ranks does nearly (2n - 1) / n times the mean.
TEST(AttentionRuns, ZigZagBalancesCausalWork) {
  for (int64_t shards : {2, 4, 8}) {
    auto n = static_cast<double>(shards);
    EXPECT_DOUBLE_EQ(imbalance(shards, 64, true), 1);
    EXPECT_NEAR(imbalance(shards, 64, false), (2 * n - 1) / n, 0.02);
  }
}

} // namespace
