//===- StageSearchTest.cpp - The stage solver against all placements
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/StageBound.h"
#include "planner/problem/StageProblem.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace dtcc::plan;

namespace {

double draw(std::mt19937 &random, int most) { return static_cast<double>(random() % (most + 1)); }

StageProblem randomProblem(std::mt19937 &random) {
  StageProblem problem;
  problem.classes.resize(1 + random() % 2);
  for (DeviceClass &each : problem.classes)
    each = {static_cast<int64_t>(1 + random() % 3), 20 + draw(random, 60)};
  problem.types.resize(1 + random() % 3);
  size_t modes = 1 + random() % 3;
  for (BlockType &type : problem.types) {
    type.modes.resize(problem.classes.size());
    for (auto &each : type.modes)
      for (size_t i = 0; i < modes; ++i)
        each.push_back({1 + draw(random, 9), draw(random, 9), 0, random() % 3 ? draw(random, 12) : 0});
    type.stateBytes = draw(random, 10);
    type.workingBytes = draw(random, 10);
    type.sendSeconds = draw(random, 2);
    type.tailSeconds = draw(random, 4);
    type.filledSeconds = random() % 2 ? draw(random, 4) : 0;
  }
  for (size_t i = 1 + random() % 5; i-- > 0;)
    problem.blocks.push_back(random() % problem.types.size());
  int64_t places = 0;
  for (const DeviceClass &each : problem.classes)
    places += each.stages;
  size_t stages = 1 + random() % std::min<size_t>({3, problem.blocks.size(), static_cast<size_t>(places)});
  for (size_t i = 0; i < stages; ++i)
    problem.inFlight.push_back(static_cast<double>(stages - i));
  problem.ramp = random() % 2 ? 1 : 0.5;
  problem.rounds = 1 + draw(random, 6);
  return problem;
}

/// Fixes the first blocks of the stages of a problem to random numbers.
void holdStages(StageProblem &problem, std::mt19937 &random) {
  std::vector<uint32_t> others;
  for (uint32_t block = 1; block < problem.blocks.size(); ++block)
    others.push_back(block);
  std::shuffle(others.begin(), others.end(), random);
  problem.begins.assign(others.begin(), others.begin() + long(problem.stages() - 1));
  problem.begins.push_back(0);
  std::sort(problem.begins.begin(), problem.begins.end());
}

TEST(StageSearch, EqualsTheExhaustiveSolver) {
  std::mt19937 random(1);
  int infeasible = 0;
  for (int round = 0; round < 3000; ++round) {
    StageProblem problem = randomProblem(random);
    ASSERT_EQ(problem.check(), "") << round;
    StageSolution all = solveExhaustively(problem), found = solve(problem);
    ASSERT_EQ(all.isInfeasible(), found.isInfeasible()) << round;
    if (all.isInfeasible()) {
      ++infeasible;
      continue;
    }
    ASSERT_NEAR(found.seconds, all.seconds, 1e-9) << round;
    // The cost that the solver reports is the cost of its solution by the problem.
    ASSERT_NEAR(costOf(problem, found), found.seconds, 1e-9) << round;
    ASSERT_LE(found.lowerBound, all.seconds + 1e-9) << round;
    ASSERT_EQ(found.lowerBound, found.seconds) << round;
  }
  EXPECT_GT(infeasible, 50);
  EXPECT_LT(infeasible, 1500);
}

TEST(StageSearch, SolvesAgainAsMemoryFalls) {
  std::mt19937 random(5);
  int tighter = 0;
  for (int i = 0; i < 2000; ++i) {
    StageProblem problem = randomProblem(random);
    StageSolver solver(problem);
    double before = -1;
    for (int times = 0; times < 4; ++times) {
      StageSolution again = solver.solve(), once = solve(problem);
      EXPECT_EQ(again.seconds, once.seconds) << i;
      EXPECT_EQ(again.lowerBound, once.lowerBound) << i;
      EXPECT_EQ(again.modes, once.modes) << i;
      tighter += before >= 0 && again.seconds > before;
      before = again.seconds;
      for (DeviceClass &each : problem.classes)
        each.memoryBytes *= 1 - 0.1 * draw(random, 3);
    }
  }
  EXPECT_GT(tighter, 500);
}

TEST(StageSearch, BeginsStagesWhereItIsTold) {
  std::mt19937 random(5);
  int otherwise = 0;
  for (int round = 0; round < 1000; ++round) {
    StageProblem problem = randomProblem(random);
    StageSolution free = solve(problem);
    holdStages(problem, random);
    ASSERT_EQ(problem.check(), "") << round;
    StageSolution all = solveExhaustively(problem), found = solve(problem);
    ASSERT_EQ(all.isInfeasible(), found.isInfeasible()) << round;
    if (all.isInfeasible())
      continue;
    ASSERT_NEAR(found.seconds, all.seconds, 1e-9) << round;
    ASSERT_NEAR(costOf(problem, found), found.seconds, 1e-9) << round;
    for (size_t stage = 0; stage < problem.stages(); ++stage)
      ASSERT_EQ(found.stages[stage].firstBlock, problem.begins[stage]) << round;
    otherwise += found.seconds > free.seconds + 1e-9;
    if (problem.stages() > 1) {
      std::swap(problem.begins.front(), problem.begins.back());
      ASSERT_EQ(problem.check(), "stages must begin at block 0 and at blocks that ascend");
    }
  }
  EXPECT_GT(otherwise, 50);
}

TEST(StageBound, HoldsAndComesCloser) {
  std::mt19937 random(9);
  int closer = 0, exact = 0, impossible = 0;
  for (int round = 0; round < 3000; ++round) {
    StageProblem problem = randomProblem(random);
    double truth = solveExhaustively(problem).seconds, quick = quickBound(problem), close = closeBound(problem);
    // Without a solution it is infinite.
    ASSERT_LE(quick, truth * (1 + 1e-9)) << round;
    ASSERT_LE(close, truth * (1 + 1e-9)) << round;
    ASSERT_GE(close, quick * (1 - 1e-6)) << round;
    closer += close > quick * 1.01;
    exact += close > truth * 0.99;
    impossible += std::isinf(close) && !std::isinf(quick);
  }
  EXPECT_GT(closer, 1000);
  EXPECT_GT(exact, 750);
  EXPECT_GT(impossible, 50);
}

TEST(StageSearch, ItsBoundHoldsWhenItIsCutShort) {
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    StageProblem problem = randomProblem(random);
    StageSolution all = solveExhaustively(problem), cut = solve(problem, 1);
    ASSERT_EQ(all.isInfeasible(), cut.isInfeasible());
    if (all.isInfeasible())
      continue;
    ASSERT_LE(cut.lowerBound, all.seconds + 1e-9) << round;
    ASSERT_GE(cut.seconds, all.seconds - 1e-9) << round;
    ASSERT_NEAR(costOf(problem, cut), cut.seconds, 1e-9) << round;
  }
}

/// 96 layers on 8 stages that cannot keep all they compute: the first stages, which hold most, recompute most.
TEST(StageSearch, RecomputesWhereMostIsInFlight) {
  StageProblem problem;
  problem.types = {{{{{3, 10}, {4, 1}}}, 10, 5, 0.1, 0.5}, {{{{2, 4}, {3, 2}}}, 30, 5, 0.1, 0.5}};
  problem.blocks.assign(98, 0);
  problem.blocks.front() = problem.blocks.back() = 1;
  problem.classes = {{8, 700}};
  for (int stage = 0; stage < 8; ++stage)
    problem.inFlight.push_back(8 - stage);
  problem.rounds = 63;
  StageSolution found = solve(problem);
  ASSERT_FALSE(found.isInfeasible());
  EXPECT_EQ(found.lowerBound, found.seconds);
  EXPECT_NEAR(costOf(problem, found), found.seconds, 1e-9 * found.seconds);
  auto recomputed = [&](size_t stage) {
    size_t end = stage == 7 ? 98 : found.stages[stage + 1].firstBlock, number = 0;
    for (size_t i = found.stages[stage].firstBlock; i < end; ++i)
      number += found.modes[i];
    return number;
  };
  EXPECT_GT(recomputed(0), recomputed(6));
  EXPECT_EQ(recomputed(7), 0u);
}

TEST(StageProblem, SaysWhatIsWrong) {
  StageProblem problem;
  problem.types = {{{{{1, 1}}}, 0, 0, 0, 0}};
  problem.blocks = {0, 0};
  problem.classes = {{1, 10}};
  problem.inFlight = {1};
  EXPECT_EQ(problem.check(), "");
  StageProblem other = problem;
  other.inFlight = {3, 2, 1};
  EXPECT_EQ(other.check(), "stages must be 1 to 2 (blocks of the model), got: 3");
  other.inFlight = {2, 1};
  EXPECT_EQ(other.check(), "devices must be enough for 2 stages, have: 1");
  other = problem;
  other.blocks = {0, 7};
  EXPECT_EQ(other.check(), "a block must be of a known type, got: 7");
  other = problem;
  other.types[0].modes[0][0].seconds = NAN;
  EXPECT_EQ(other.check(), "times and bytes of a mode must be finite and not negative");
}

} // namespace
