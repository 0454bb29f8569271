//===- ChoiceTest.cpp - The choice solver against all choices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Choice.h"
#include "gtest/gtest.h"
#include <random>

using namespace dtcc::plan;

namespace {

ChoiceProblem randomProblem(std::mt19937 &random, unsigned mostNodes) {
  ChoiceProblem problem;
  unsigned count = 1 + random() % mostNodes;
  for (unsigned i = 0; i < count; ++i) {
    std::vector<double> costs(1 + random() % 4);
    for (double &cost : costs)
      cost = random() % 20;
    problem.addNode(costs);
  }
  for (unsigned i = 0; i < count; ++i)
    for (unsigned j = 0; j < count; ++j)
      if (i != j && random() % 3 == 0) {
        std::vector<double> costs(problem.nodes[i].size() * problem.nodes[j].size());
        for (double &cost : costs)
          cost = random() % 15 == 0 ? kForbidden : random() % 20;
        problem.addEdge(i, j, costs);
      }
  return problem;
}

TEST(Choice, EqualsTheExhaustiveSolver) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    ChoiceProblem problem = randomProblem(random, 7);
    ASSERT_EQ(problem.check(), "");
    ChoiceSolution found = solve(problem), oracle = solveExhaustively(problem);
    ASSERT_EQ(found.cost, oracle.cost) << "round " << round;
    ASSERT_EQ(costOf(problem, found.candidates), found.cost);
    ASSERT_TRUE(found.isOptimal());
  }
}

TEST(Choice, BoundHoldsWhenTheSearchIsCutShort) {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    ChoiceProblem problem = randomProblem(random, 7);
    ChoiceSolution found = solve(problem, /*maxBranches=*/0), oracle = solveExhaustively(problem);
    ASSERT_LE(found.lowerBound, oracle.cost) << "round " << round;
    ASSERT_GE(found.cost, oracle.cost);
  }
}

TEST(Choice, LongChainsNeedNoBranch) {
  ChoiceProblem problem;
  for (int i = 0; i < 2000; ++i)
    problem.addNode({double(i % 3), 1, double(i % 5)});
  for (int i = 0; i + 1 < 2000; ++i)
    problem.addEdge(i, i + 1, {0, 2, 2, 2, 0, 2, 2, 2, 0});
  ChoiceSolution found = solve(problem);
  EXPECT_EQ(found.branches, 0u);
  EXPECT_TRUE(found.isOptimal());
  EXPECT_EQ(costOf(problem, found.candidates), found.cost);
}

TEST(Choice, NamesWhatIsWrong) {
  ChoiceProblem problem;
  problem.addNode({});
  EXPECT_EQ(problem.check(), "node 0 has no candidate");
  problem.nodes[0] = {-1};
  EXPECT_EQ(problem.check(), "node 0 has a negative or undefined cost");
  problem.nodes[0] = {1, 2};
  problem.addNode({1});
  problem.addEdge(0, 1, {1, 2, 3});
  EXPECT_EQ(problem.check(), "edge 0 has costs for other numbers of candidates");
}

} // namespace
