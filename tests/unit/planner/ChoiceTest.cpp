//===- ChoiceTest.cpp - The choice solver against all choices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/Choice.h"
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

/// Some nodes deliver to others, in up to three forms.
void addDeliveries(ChoiceProblem &problem, std::mt19937 &random) {
  for (uint32_t from = 0; from < problem.nodes.size(); ++from) {
    if (random() % 2)
      continue;
    ChoiceProblem::Delivery delivery{from, unsigned(random() % 4), {}, {}};
    size_t sets = size_t(1) << delivery.forms;
    for (size_t at = 0; at < problem.nodes[from].size() * sets; ++at) {
      double cost = at % sets == 0 ? 0 : random() % 20 == 0 ? kForbidden : random() % 20;
      for (size_t form = 1; form < sets; form <<= 1)
        if (at & form)
          cost = std::max(cost, delivery.costs[at - form]);
      delivery.costs.push_back(cost);
    }
    for (uint32_t node = 0; node < problem.nodes.size(); ++node)
      if (node != from && random() % 2) {
        ChoiceProblem::Delivery::Reader reader{node, {}};
        for (size_t i = 0; i < problem.nodes[node].size(); ++i)
          reader.wants.push_back(uint32_t(random() % sets));
        delivery.readers.push_back(reader);
      }
    problem.deliveries.push_back(delivery);
  }
}

TEST(Choice, DeliversOnceToAllReaders) {
  std::mt19937 random(3);
  size_t shared = 0;
  for (int round = 0; round < 2000; ++round) {
    ChoiceProblem problem = randomProblem(random, 6);
    if (round % 2)
      problem.edges.clear();
    addDeliveries(problem, random);
    ASSERT_EQ(problem.check(), "");
    ChoiceSolution found = solve(problem), oracle = solveExhaustively(problem);
    ASSERT_EQ(found.cost, oracle.cost) << "round " << round;
    ASSERT_EQ(found.candidates.size(), problem.nodes.size());
    ASSERT_EQ(costOf(problem, found.candidates), found.cost);
    ASSERT_TRUE(found.isOptimal());
    ChoiceSolution cut = solve(problem, /*maxBranches=*/0);
    ASSERT_LE(cut.lowerBound, oracle.cost) << "round " << round;
    for (const ChoiceProblem::Delivery &delivery : problem.deliveries)
      shared += delivery.readers.size() > 1;
  }
  EXPECT_GT(shared, 1000u);
}

/// One node whose value three others want in one form: paid once. If they want it in two, twice.
TEST(Choice, PaysForFormsNotForReaders) {
  ChoiceProblem problem;
  for (int node = 0; node < 4; ++node)
    problem.addNode({0});
  ChoiceProblem::Delivery delivery{0, 2, {0, 10, 7, 17}, {}};
  for (uint32_t reader = 1; reader < 4; ++reader)
    delivery.readers.push_back({reader, {1}});
  problem.deliveries = {delivery};
  EXPECT_EQ(solve(problem).cost, 10);
  problem.deliveries[0].readers[2].wants = {2};
  EXPECT_EQ(solve(problem).cost, 17);
  problem.deliveries[0].costs = {0, 10, 7, 8};
  EXPECT_EQ(problem.check(), "delivery 0 costs less for more forms");
  problem.deliveries[0].readers[0].node = 0;
  problem.deliveries[0].costs = {0, 10, 7, 17};
  EXPECT_EQ(problem.check(), "delivery 0 must have readers that are other nodes, each once");
}

/// Tables of many nodes that all know each other are too large: what is branched on and what is left is still exact.
TEST(Choice, BranchesWhereTablesAreTooLarge) {
  std::mt19937 random(4);
  for (int round = 0; round < 3; ++round) {
    ChoiceProblem problem;
    for (int node = 0; node < 9; ++node)
      problem.addNode({double(random() % 9), double(random() % 9), double(random() % 9), double(random() % 9)});
    for (uint32_t a = 0; a < 9; ++a)
      for (uint32_t b = a + 1; b < 9; ++b) {
        std::vector<double> costs(16);
        for (double &cost : costs)
          cost = random() % 20;
        problem.addEdge(a, b, costs);
      }
    ChoiceSolution found = solve(problem), oracle = solveExhaustively(problem);
    EXPECT_GT(found.branches, 0u);
    EXPECT_EQ(found.cost, oracle.cost);
    EXPECT_TRUE(found.isOptimal());
  }
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

/// Steps of a recurrent layer: a chain of nodes that all know the same few (its weights). Too large to prove, found all
/// the same.
TEST(Choice, FindsWhatItCannotProve) {
  std::mt19937 random(3);
  auto costs = [&](size_t count) {
    std::vector<double> drawn(count);
    for (double &cost : drawn)
      cost = random() % 20;
    return drawn;
  };
  for (int round = 0; round < 3; ++round) {
    ChoiceProblem problem;
    constexpr uint32_t kHubs = 10, kSteps = 24;
    for (uint32_t node = 0; node < kHubs + kSteps; ++node) {
      problem.addNode(costs(3));
      for (uint32_t hub = 0; node >= kHubs && hub < kHubs; ++hub)
        problem.addEdge(hub, node, costs(9));
      if (node > kHubs)
        problem.addEdge(node - 1, node, costs(9));
    }
    ChoiceSolution proven = solve(problem, 100000000), found = solve(problem, 150);
    ASSERT_TRUE(proven.isOptimal());
    EXPECT_FALSE(found.isOptimal());
    EXPECT_LT(found.branches, proven.branches / 2);
    EXPECT_LE(found.lowerBound, proven.cost);
    EXPECT_LE(found.cost, 1.01 * proven.cost) << "round " << round;
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
