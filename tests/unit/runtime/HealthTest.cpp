//===- HealthTest.cpp - Spikes of gradients and slow ranks ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/health/SpikeGuard.h"
#include "runtime/launch/health/Stragglers.h"

#include <gtest/gtest.h>

#include <limits>

namespace dtcc::rt::test {
namespace {

constexpr float none = std::numeric_limits<float>::infinity();

TEST(SpikeGuard, LimitsByTheMedianOfTheLastSteps) {
  SpikeGuard guard(3);
  for (size_t i = 0; i < SpikeGuard::window; ++i) {
    EXPECT_EQ(guard.limit(), none) << i;
    guard.add(i % 2 ? 1 : 100);
  }
  EXPECT_EQ(guard.limit(), 300);
  // Older norms are forgotten, and one that is no number is not known.
  guard.add(1);
  guard.add(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(guard.norms().size(), SpikeGuard::window);
  EXPECT_EQ(guard.limit(), 3);
  // The norms of a checkpoint go on.
  EXPECT_EQ(SpikeGuard(2, guard.norms()).limit(), 2);
  EXPECT_EQ(SpikeGuard(0, guard.norms()).limit(), none);
}

/// Four ranks, of two programs: of the second both are ten times as slow by their work.
class Slow : public testing::Test {
protected:
  std::vector<int64_t> step(double second, double fourth) {
    std::vector<int64_t> ranks;
    for (const Straggler &each : stragglers.step(std::vector<double>{0.02, second, 0.2, fourth}))
      ranks.push_back(each.rank);
    return ranks;
  }
  Stragglers stragglers{{0, 0, 1, 1}};
};

TEST_F(Slow, IsNamedOnceAfterTwentyStepsInARow) {
  const std::vector<int64_t> nobody, third{3};
  for (int i = 0; i < 19; ++i)
    EXPECT_EQ(step(0.021, 0.23), nobody) << i;
  EXPECT_EQ(step(0.021, 0.21), nobody); // a step that was not slow
  for (int i = 0; i < 19; ++i)
    EXPECT_EQ(step(0.021, 0.23), nobody) << i;
  EXPECT_EQ(step(0.021, 0.23), third);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(step(0.021, i == 50 ? 0.2 : 0.23), nobody) << i;
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(step(0.021, 0.2), nobody);
  for (int i = 0; i < 19; ++i)
    EXPECT_EQ(step(0.021, 0.23), nobody) << i;
  EXPECT_EQ(step(0.021, 0.23), third);
}

TEST_F(Slow, IsMeasuredByItsLike) {
  for (int i = 0; i < 19; ++i)
    step(0.03, 0.2);
  std::vector<Straggler> found = stragglers.step(std::vector<double>{0.02, 0.05, 0.2, 0.2});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_NEAR(found[0].seconds, 0.031, 1e-9);
  EXPECT_NEAR(found[0].median, 0.02, 1e-9);
}

TEST_F(Slow, IsNobodyByMicroseconds) {
  for (int i = 0; i < 40; ++i)
    EXPECT_TRUE(stragglers.step(std::vector<double>{0.0002, 0.0004, 0.0002, 0.0002}).empty());
}

} // namespace
} // namespace dtcc::rt::test
