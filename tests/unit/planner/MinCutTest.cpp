//===- MinCutTest.cpp - Minimum cuts against all subsets
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/MinCut.h"
#include "gtest/gtest.h"
#include <random>

using namespace dtcc::plan;

namespace {

struct Graph {
  std::vector<int64_t> weights;
  std::vector<std::pair<size_t, size_t>> edges;
  std::vector<bool> source, sink;

  MinCut build() const {
    MinCut cut;
    for (int64_t weight : weights)
      cut.addNode(weight);
    for (auto [from, to] : edges)
      cut.addEdge(from, to);
    for (size_t i = 0; i < weights.size(); ++i) {
      if (source[i])
        cut.addSource(i);
      if (sink[i])
        cut.addSink(i);
    }
    return cut;
  }
  /// Whether no path leads from a source to a sink without the nodes of `cut`.
  bool separates(const std::vector<bool> &cut) const {
    std::vector<bool> reached(weights.size(), false);
    for (size_t i = 0; i < weights.size(); ++i)
      reached[i] = source[i] && !cut[i];
    for (size_t round = 0; round < weights.size(); ++round)
      for (auto [from, to] : edges)
        if (reached[from] && !cut[to])
          reached[to] = true;
    for (size_t i = 0; i < weights.size(); ++i)
      if (reached[i] && sink[i])
        return false;
    return true;
  }
};

Graph randomGraph(std::mt19937 &random) {
  Graph graph;
  size_t count = 1 + random() % 9;
  for (size_t i = 0; i < count; ++i) {
    graph.weights.push_back(random() % 8 == 0 ? MinCut::kNever : random() % 10);
    graph.source.push_back(random() % 3 == 0);
    graph.sink.push_back(random() % 3 == 0);
    for (size_t j = 0; j < i; ++j)
      if (random() % 3 == 0)
        graph.edges.push_back({j, i});
  }
  return graph;
}

TEST(MinCut, EqualsTheBestOfAllSubsets) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    Graph graph = randomGraph(random);
    size_t count = graph.weights.size();
    int64_t best = MinCut::kNever;
    for (unsigned subset = 0; subset < 1u << count; ++subset) {
      std::vector<bool> cut(count);
      int64_t weight = 0;
      for (size_t i = 0; i < count; ++i)
        if ((cut[i] = subset >> i & 1))
          weight = std::min(MinCut::kNever, weight + graph.weights[i]);
      if (weight < best && graph.separates(cut))
        best = weight;
    }
    MinCut problem = graph.build();
    std::vector<size_t> found = problem.solve();
    ASSERT_EQ(problem.isPossible(), best < MinCut::kNever) << round;
    if (!problem.isPossible())
      continue;
    ASSERT_EQ(problem.weight(), best) << round;
    std::vector<bool> cut(count);
    int64_t weight = 0;
    for (size_t node : found) {
      cut[node] = true;
      weight += graph.weights[node];
    }
    ASSERT_EQ(weight, best) << round;
    ASSERT_TRUE(graph.separates(cut)) << round;
  }
}

TEST(MinCut, OfEqualCutsTakesTheOneNearestTheSinks) {
  MinCut chain;
  for (int i = 0; i < 4; ++i)
    chain.addNode(5);
  for (size_t i = 0; i < 3; ++i)
    chain.addEdge(i, i + 1);
  chain.addSource(0);
  chain.addSink(3);
  EXPECT_EQ(chain.solve(), std::vector<size_t>{3});
}

TEST(MinCut, PathsMayBeAsLongAsTheGraph) {
  constexpr size_t count = 300000;
  MinCut chain;
  for (size_t i = 0; i < count; ++i)
    chain.addNode(i == count / 2 ? 1 : 5);
  for (size_t i = 0; i + 1 < count; ++i)
    chain.addEdge(i, i + 1);
  chain.addSource(0);
  chain.addSink(count - 1);
  EXPECT_EQ(chain.solve(), std::vector<size_t>{count / 2});
}

} // namespace
