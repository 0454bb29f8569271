//===- Choice.cpp - One choice a node, costs on nodes and edges
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph of nodes and merged edges is reduced in place; eliminated nodes are kept on a
// stack and chosen backwards. Branching fixes one node's candidate, which takes the
// node out of the graph, and reduces again.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Choice.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace dtcc::plan {

uint32_t ChoiceProblem::addNode(std::vector<double> costs) {
  nodes.push_back(std::move(costs));
  return nodes.size() - 1;
}

void ChoiceProblem::addEdge(uint32_t from, uint32_t to, std::vector<double> costs) {
  edges.push_back({from, to, std::move(costs)});
}

std::string ChoiceProblem::check() const {
  auto legal = [](double cost) { return cost >= 0; };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].empty())
      return "node " + std::to_string(i) + " has no candidate";
    if (!std::all_of(nodes[i].begin(), nodes[i].end(), legal))
      return "node " + std::to_string(i) + " has a negative or undefined cost";
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    const Edge &edge = edges[i];
    if (edge.from >= nodes.size() || edge.to >= nodes.size() || edge.from == edge.to)
      return "edge " + std::to_string(i) + " does not join two nodes";
    if (edge.costs.size() != nodes[edge.from].size() * nodes[edge.to].size())
      return "edge " + std::to_string(i) + " has costs for other numbers of candidates";
    if (!std::all_of(edge.costs.begin(), edge.costs.end(), legal))
      return "edge " + std::to_string(i) + " has a negative or undefined cost";
  }
  return "";
}

double costOf(const ChoiceProblem &problem, const std::vector<uint32_t> &candidates) {
  double cost = 0;
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    cost += problem.nodes[i][candidates[i]];
  for (const ChoiceProblem::Edge &edge : problem.edges)
    cost += edge.costs[candidates[edge.from] * problem.nodes[edge.to].size() + candidates[edge.to]];
  return cost;
}

ChoiceSolution solveExhaustively(const ChoiceProblem &problem) {
  ChoiceSolution best;
  best.cost = kForbidden;
  best.candidates.assign(problem.nodes.size(), 0);
  std::vector<uint32_t> choice(problem.nodes.size(), 0);
  for (;;) {
    double cost = costOf(problem, choice);
    if (cost < best.cost) {
      best.cost = cost;
      best.candidates = choice;
    }
    size_t i = choice.size();
    while (i > 0 && ++choice[i - 1] == problem.nodes[i - 1].size())
      choice[--i] = 0;
    if (i == 0)
      break;
  }
  best.lowerBound = best.cost;
  return best;
}

namespace {
using Matrix = std::vector<double>;

/// The problem while it shrinks. Copied at each branch: blocks are folded before they
/// get here, so graphs that do not reduce are small.
struct Graph {
  std::vector<std::vector<double>> nodes;
  std::vector<std::map<uint32_t, Matrix>> edges; // matrix rows belong to the owner
  std::vector<bool> gone;

  double at(uint32_t from, uint32_t to, uint32_t i, uint32_t j) const {
    return edges[from].at(to)[i * nodes[to].size() + j];
  }
  void add(uint32_t from, uint32_t to, const Matrix &costs) {
    size_t rows = nodes[from].size(), columns = nodes[to].size();
    Matrix &forward = edges[from][to], &backward = edges[to][from];
    forward.resize(rows * columns, 0);
    backward.resize(rows * columns, 0);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) {
        forward[i * columns + j] += costs[i * columns + j];
        backward[j * rows + i] += costs[i * columns + j];
      }
  }
  void remove(uint32_t node) {
    for (auto &entry : edges[node])
      edges[entry.first].erase(node);
    gone[node] = true;
  }
};

/// How an eliminated node is chosen once its neighbours are: its own costs and the edges it had.
struct Elimination {
  uint32_t node;
  std::vector<double> costs;
  std::map<uint32_t, Matrix> edges;
};

class Solver {
public:
  Solver(const ChoiceProblem &problem, uint64_t maxBranches) : problem(problem), branchesLeft(maxBranches) {}
  ChoiceSolution run();

private:
  void eliminate(Graph &graph, uint32_t node, std::vector<Elimination> &stack);
  void reduce(Graph &graph, std::vector<Elimination> &stack);
  void search(Graph graph, std::vector<Elimination> stack);
  void finish(const std::vector<Elimination> &stack);
  double bound(const Graph &graph, const std::vector<Elimination> &stack) const;

  const ChoiceProblem &problem;
  uint64_t branchesLeft, branches = 0;
  ChoiceSolution best;
  double openBound = kForbidden; // least bound of what was not searched
};

/// R0, R1 and R2: the node's best answer to each choice of its neighbours becomes their cost.
void Solver::eliminate(Graph &graph, uint32_t node, std::vector<Elimination> &stack) {
  std::map<uint32_t, Matrix> edges = graph.edges[node];
  const std::vector<double> &own = graph.nodes[node];
  stack.push_back({node, own, edges});
  if (edges.size() == 1) {
    uint32_t other = edges.begin()->first;
    for (uint32_t j = 0; j < graph.nodes[other].size(); ++j) {
      double least = kForbidden;
      for (uint32_t i = 0; i < own.size(); ++i)
        least = std::min(least, own[i] + graph.at(node, other, i, j));
      graph.nodes[other][j] += least;
    }
  } else if (edges.size() == 2) {
    uint32_t a = edges.begin()->first, b = std::next(edges.begin())->first;
    Matrix costs;
    for (uint32_t i = 0; i < graph.nodes[a].size(); ++i)
      for (uint32_t j = 0; j < graph.nodes[b].size(); ++j) {
        double least = kForbidden;
        for (uint32_t k = 0; k < own.size(); ++k)
          least = std::min(least, own[k] + graph.at(node, a, k, i) + graph.at(node, b, k, j));
        costs.push_back(least);
      }
    graph.remove(node);
    graph.add(a, b, costs);
    return;
  }
  graph.remove(node);
}

void Solver::reduce(Graph &graph, std::vector<Elimination> &stack) {
  std::set<std::pair<size_t, uint32_t>> byDegree;
  auto track = [&](uint32_t node) {
    if (!graph.gone[node] && graph.edges[node].size() <= 2)
      byDegree.insert({graph.edges[node].size(), node});
  };
  for (uint32_t node = 0; node < graph.nodes.size(); ++node)
    track(node);
  while (!byDegree.empty()) {
    auto [degree, node] = *byDegree.begin();
    byDegree.erase(byDegree.begin());
    if (graph.gone[node] || graph.edges[node].size() != degree)
      continue;
    std::vector<uint32_t> neighbours;
    for (auto &entry : graph.edges[node])
      neighbours.push_back(entry.first);
    eliminate(graph, node, stack);
    for (uint32_t neighbour : neighbours)
      track(neighbour);
  }
}

/// Chooses the eliminated nodes backwards and keeps the choice if it is better.
void Solver::finish(const std::vector<Elimination> &stack) {
  std::vector<uint32_t> choice(problem.nodes.size(), 0);
  for (size_t s = stack.size(); s-- > 0;) {
    const Elimination &last = stack[s];
    double least = kForbidden;
    for (uint32_t i = 0; i < last.costs.size(); ++i) {
      double cost = last.costs[i];
      for (auto &[other, costs] : last.edges)
        cost += costs[i * problem.nodes[other].size() + choice[other]];
      if (cost < least) {
        least = cost;
        choice[last.node] = i;
      }
    }
  }
  double cost = costOf(problem, choice);
  if (cost < best.cost || best.candidates.empty()) {
    best.cost = cost;
    best.candidates = choice;
  }
}

/// Every node's and every edge's cheapest, and what the reductions have fixed already.
double Solver::bound(const Graph &graph, const std::vector<Elimination> &stack) const {
  double sum = 0;
  for (const Elimination &done : stack)
    if (done.edges.empty())
      sum += *std::min_element(done.costs.begin(), done.costs.end());
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (graph.gone[node])
      continue;
    double least = kForbidden;
    for (uint32_t i = 0; i < graph.nodes[node].size(); ++i) {
      double cost = graph.nodes[node][i];
      // Each edge is shared out half to both ends.
      for (auto &[other, costs] : graph.edges[node]) {
        double row = kForbidden;
        for (uint32_t j = 0; j < graph.nodes[other].size(); ++j)
          row = std::min(row, costs[i * graph.nodes[other].size() + j]);
        cost += row / 2;
      }
      least = std::min(least, cost);
    }
    sum += least;
  }
  return sum;
}

void Solver::search(Graph graph, std::vector<Elimination> stack) {
  reduce(graph, stack);
  uint32_t widest = graph.nodes.size();
  for (uint32_t node = 0; node < graph.nodes.size(); ++node)
    if (!graph.gone[node] && (widest == graph.nodes.size() || graph.edges[node].size() > graph.edges[widest].size()))
      widest = node;
  if (widest == graph.nodes.size())
    return finish(stack);
  double here = bound(graph, stack);
  if (here >= best.cost && !best.candidates.empty())
    return;
  // Candidates by their local cost: the first dive is the usual greedy heuristic.
  std::vector<std::pair<double, uint32_t>> order;
  for (uint32_t i = 0; i < graph.nodes[widest].size(); ++i) {
    double cost = graph.nodes[widest][i];
    for (auto &[other, costs] : graph.edges[widest]) {
      double row = kForbidden;
      for (uint32_t j = 0; j < graph.nodes[other].size(); ++j)
        row = std::min(row, costs[i * graph.nodes[other].size() + j] + graph.nodes[other][j]);
      cost += row;
    }
    order.push_back({cost, i});
  }
  std::sort(order.begin(), order.end());
  for (size_t number = 0; number < order.size(); ++number) {
    uint32_t i = order[number].second;
    if (number > 0 && branchesLeft == 0) {
      openBound = std::min(openBound, here);
      return;
    }
    if (number > 0)
      --branchesLeft;
    ++branches;
    Graph fixed = graph;
    std::vector<Elimination> trail = stack;
    for (auto &[other, costs] : graph.edges[widest])
      for (uint32_t j = 0; j < graph.nodes[other].size(); ++j)
        fixed.nodes[other][j] += costs[i * graph.nodes[other].size() + j];
    std::vector<double> only(graph.nodes[widest].size(), kForbidden);
    only[i] = graph.nodes[widest][i];
    trail.push_back({widest, only, {}});
    fixed.remove(widest);
    search(std::move(fixed), std::move(trail));
  }
}

ChoiceSolution Solver::run() {
  Graph graph;
  graph.nodes = problem.nodes;
  graph.edges.resize(problem.nodes.size());
  graph.gone.resize(problem.nodes.size());
  for (const ChoiceProblem::Edge &edge : problem.edges)
    graph.add(edge.from, edge.to, edge.costs);
  best.cost = kForbidden;
  search(std::move(graph), {});
  best.branches = branches;
  best.lowerBound = std::min(best.cost, openBound);
  return best;
}
} // namespace

ChoiceSolution solve(const ChoiceProblem &problem, uint64_t maxBranches) { return Solver(problem, maxBranches).run(); }

} // namespace dtcc::plan
