//===- CompareNextTest.cpp - Which plan's program is compared next
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/CompareNext.h"
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace dtcc::plan;

namespace {

ComparedPlan planOf(double seconds, int64_t tp, int64_t microbatches, bool stationary = false) {
  ComparedPlan plan;
  plan.seconds = seconds;
  plan.shape.dp = 64 / tp;
  plan.shape.tp = tp;
  plan.shape.microbatches = microbatches;
  plan.shape.stationaryWeights = stationary;
  return plan;
}

/// The order in which plans are compared, which are sorted by their estimates.
std::string orderOf(std::vector<ComparedPlan> waiting) {
  std::vector<ComparedPlan> compared;
  std::vector<std::string> names;
  for (size_t i = 0; i < waiting.size(); ++i)
    names.emplace_back(1, char('a' + i));
  std::string order;
  while (!waiting.empty()) {
    const auto next = ptrdiff_t(compareNext(compared, waiting));
    order += names[size_t(next)];
    names.erase(names.begin() + next);
    compared.push_back(waiting[size_t(next)]);
    waiting.erase(waiting.begin() + next);
  }
  return order;
}

TEST(CompareNextTest, TwoByEstimateThenOtherMeshes) {
  EXPECT_EQ(orderOf({planOf(1, 4, 1), planOf(1.01, 4, 2), planOf(1.02, 4, 4), planOf(1.025, 2, 1)}), "abdc");
  EXPECT_EQ(orderOf({planOf(1, 4, 1), planOf(1.01, 2, 1), planOf(1.02, 4, 4), planOf(1.025, 8, 1)}), "abdc");
  EXPECT_EQ(orderOf({planOf(1, 4, 1), planOf(1.01, 4, 2), planOf(1.02, 4, 4)}), "abc");
}

TEST(CompareNextTest, AnotherMeshIsNotMuchSlower) {
  EXPECT_EQ(orderOf({planOf(1, 4, 1), planOf(1.01, 4, 2), planOf(1.02, 4, 4), planOf(1.04, 2, 1)}), "abcd");
}

TEST(CompareNextTest, TwinsComeLast) {
  EXPECT_EQ(orderOf({planOf(1, 4, 1), planOf(1.001, 4, 1, true), planOf(1.01, 4, 2), planOf(1.011, 4, 2, true),
                     planOf(1.02, 4, 4)}),
            "acebd");
}

TEST(CompareNextTest, StationaryWeightsThatDecideAreNoTwins) {
  EXPECT_EQ(orderOf({planOf(1, 4, 1), planOf(1.01, 4, 1, true), planOf(1.02, 4, 2)}), "abc");
}

} // namespace
