//===- EvenRunsTest.cpp - Even cuts against all cuts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/EvenRuns.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace dtcc::plan;

namespace {

double longestOf(const std::vector<double> &seconds, const std::vector<size_t> &cuts) {
  double longest = 0;
  size_t begin = 0;
  for (size_t run = 0; run <= cuts.size(); ++run) {
    size_t end = run < cuts.size() ? cuts[run] : seconds.size();
    longest = std::max(longest, std::accumulate(seconds.begin() + begin, seconds.begin() + end, 0.0));
    begin = end;
  }
  return longest;
}

/// Calls `each` with all ways to cut a row of `count` blocks into `runs` runs.
template <typename Each> void forAllCuts(size_t count, size_t runs, Each each) {
  std::vector<bool> isCut(count - 1);
  std::fill(isCut.end() - std::ptrdiff_t(runs - 1), isCut.end(), true);
  do {
    std::vector<size_t> cuts;
    for (size_t i = 0; i + 1 < count; ++i)
      if (isCut[i])
        cuts.push_back(i + 1);
    each(cuts);
  } while (std::next_permutation(isCut.begin(), isCut.end()));
}

TEST(EvenRuns, AreTheShortestOfAllCuts) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    size_t count = 1 + random() % 10, runs = 1 + random() % count;
    std::vector<double> seconds(count);
    for (double &each : seconds)
      each = double(random() % 8);
    double least = std::numeric_limits<double>::infinity();
    forAllCuts(count, runs,
               [&](const std::vector<size_t> &cuts) { least = std::min(least, longestOf(seconds, cuts)); });
    std::vector<size_t> cuts = cutEvenly(seconds, runs);
    ASSERT_EQ(cuts.size(), runs - 1) << "round " << round;
    EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end(), std::less_equal<>())) << "round " << round;
    EXPECT_EQ(longestOf(seconds, cuts), least) << "round " << round;
  }
}

TEST(EvenRuns, LastRunIsTheLongestOfEqualCuts) {
  EXPECT_EQ(cutEvenly({3, 1, 1, 1}, 3), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(cutEvenly({2, 1, 1}, 2), (std::vector<size_t>{1}));
  EXPECT_TRUE(cutEvenly({5}, 1).empty());
}

} // namespace
