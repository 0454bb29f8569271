//===- ChoiceSolver.cpp - Solves a choice problem by reduction and branching
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph of nodes and merged edges (ChoiceGraph.h) is reduced in place; eliminated nodes are
// kept on a stack and chosen backwards. Nodes of more neighbours are eliminated by tables over
// them (BucketElimination.h) while these are small. Else branching fixes one node's candidate,
// which takes the node out of the graph, and reduces again.
//
//===----------------------------------------------------------------------===//

#include "planner/problem/BucketElimination.h"
#include "planner/problem/Choice.h"
#include "planner/problem/ChoiceGraph.h"
#include <algorithm>
#include <set>
#include <utility>

namespace dtcc::plan {

namespace {
class Solver {
public:
  Solver(const ChoiceProblem &problem, uint64_t maxBranches) : problem(problem), branchesLeft(maxBranches) {}
  ChoiceSolution run();

private:
  void eliminate(ChoiceGraph &graph, uint32_t node, std::vector<Elimination> &stack);
  void reduce(ChoiceGraph &graph, std::vector<Elimination> &stack);
  static bool chooseAll(const ChoiceGraph &graph, std::vector<Elimination> &stack);
  static void fix(ChoiceGraph &graph, std::vector<Elimination> &stack, uint32_t node, uint32_t candidate);
  void search(ChoiceGraph graph, std::vector<Elimination> stack);
  void improve(const ChoiceGraph &graph, const std::vector<Elimination> &stack, uint64_t trials);
  void finish(const std::vector<Elimination> &stack);
  double bound(const ChoiceGraph &graph, const std::vector<Elimination> &stack) const;

  const ChoiceProblem &problem;
  uint64_t branchesLeft, branches = 0;
  ChoiceSolution best;
  std::vector<uint32_t> branched, hubs; // the nodes that are fixed now, and those that were when `best` was found
  double openBound = kForbidden;        // least bound of what was not searched
};

/// R0, R1 and R2: the node's best answer to each choice of its neighbours becomes their cost.
void Solver::eliminate(ChoiceGraph &graph, uint32_t node, std::vector<Elimination> &stack) {
  const Elimination &done = stack.emplace_back(graph.remove(node));
  const std::vector<double> &own = done.costs;
  if (done.edges.size() == 1) {
    const auto &[other, toOther] = *done.edges.begin();
    size_t count = graph.nodes[other].size();
    for (size_t j = 0; j < count; ++j) {
      double least = kForbidden;
      for (size_t i = 0; i < own.size(); ++i)
        least = std::min(least, own[i] + toOther[i * count + j]);
      graph.nodes[other][j] += least;
    }
  } else if (done.edges.size() == 2) {
    const auto &[a, toA] = *done.edges.begin();
    const auto &[b, toB] = *std::next(done.edges.begin());
    size_t rows = graph.nodes[a].size(), columns = graph.nodes[b].size();
    CostMatrix costs(rows * columns, kForbidden);
    for (size_t i = 0; i < rows; ++i)
      for (size_t k = 0; k < own.size(); ++k)
        for (size_t j = 0; j < columns; ++j) {
          double &least = costs[i * columns + j];
          least = std::min(least, own[k] + toA[k * rows + i] + toB[k * columns + j]);
        }
    graph.add(a, b, costs);
  }
}

void Solver::reduce(ChoiceGraph &graph, std::vector<Elimination> &stack) {
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

/// Chooses all nodes that are left at once, if tables over their neighbours are small enough. False if they are not.
bool Solver::chooseAll(const ChoiceGraph &graph, std::vector<Elimination> &stack) {
  std::optional<std::vector<uint32_t>> chosen = solveByTables(graph);
  if (!chosen)
    return false;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node)
    if (!graph.gone[node])
      stack.push_back(graph.only(node, (*chosen)[node]));
  return true;
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
    hubs = branched;
  }
}

/// Every node's and every edge's cheapest, and what the reductions have fixed already.
double Solver::bound(const ChoiceGraph &graph, const std::vector<Elimination> &stack) const {
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

/// The square of the nodes that are left, in units of `unit` nodes; at least one. What a branch and a trial count for:
/// the graph is copied, and an order of elimination is looked for.
static uint64_t priceOf(const ChoiceGraph &graph, uint64_t unit) {
  uint64_t units = std::count(graph.gone.begin(), graph.gone.end(), false) / unit;
  return std::max<uint64_t>(1, units * units);
}

/// Takes the node out of the graph: its neighbours pay for the candidate.
void Solver::fix(ChoiceGraph &graph, std::vector<Elimination> &stack, uint32_t node, uint32_t candidate) {
  for (auto &[other, costs] : graph.edges[node])
    for (uint32_t j = 0; j < graph.nodes[other].size(); ++j)
      graph.nodes[other][j] += costs[candidate * graph.nodes[other].size() + j];
  stack.push_back(graph.only(node, candidate));
  graph.remove(node);
}

void Solver::search(ChoiceGraph graph, std::vector<Elimination> stack) {
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
  if (chooseAll(graph, stack))
    return finish(stack);
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
  uint64_t price = priceOf(graph, 4);
  for (size_t number = 0; number < order.size(); ++number) {
    uint32_t i = order[number].second;
    if (number > 0 && branchesLeft < price) {
      openBound = std::min(openBound, here);
      return;
    }
    if (number > 0)
      branchesLeft -= price;
    ++branches;
    ChoiceGraph fixed = graph;
    std::vector<Elimination> trail = stack;
    fix(fixed, trail, widest, i);
    branched.push_back(widest);
    search(std::move(fixed), std::move(trail));
    branched.pop_back();
  }
}

/// Improves the best solution of a search that was cut short, because such a search varied only the last of its branch
/// nodes. Each branch node in turn tries its other candidates, with the other branch nodes fixed and the rest chosen
/// exactly, until nothing gets better.
void Solver::improve(const ChoiceGraph &graph, const std::vector<Elimination> &stack, uint64_t trials) {
  uint64_t price = priceOf(graph, 32);
  double before = kForbidden;
  while (best.cost < before) {
    before = best.cost;
    for (uint32_t hub : std::vector<uint32_t>(hubs))
      for (uint32_t candidate = 0; candidate < graph.nodes[hub].size(); ++candidate) {
        if (candidate == best.candidates[hub] || graph.nodes[hub][candidate] == kForbidden)
          continue;
        if (trials < price)
          return;
        trials -= price;
        ChoiceGraph fixed = graph;
        std::vector<Elimination> trail = stack;
        branched = hubs;
        for (uint32_t node : branched)
          fix(fixed, trail, node, node == hub ? candidate : best.candidates[node]);
        reduce(fixed, trail);
        if (std::find(fixed.gone.begin(), fixed.gone.end(), false) == fixed.gone.end() || chooseAll(fixed, trail))
          finish(trail);
      }
  }
}

ChoiceSolution Solver::run() {
  ChoiceGraph graph;
  graph.nodes = problem.nodes;
  graph.edges.resize(problem.nodes.size());
  graph.gone.resize(problem.nodes.size());
  for (const ChoiceProblem::Edge &edge : problem.edges)
    graph.add(edge.from, edge.to, edge.costs);
  best.cost = kForbidden;
  std::vector<Elimination> stack;
  reduce(graph, stack);
  uint64_t trials = branchesLeft;
  search(graph, stack);
  if (openBound < best.cost && best.cost != kForbidden)
    improve(graph, stack, trials);
  best.branches = branches;
  best.lowerBound = std::min(best.cost, openBound);
  return best;
}
} // namespace

/// Adds what a delivery costs: to its node, as an edge to its only reader, or as a node of its own. That makes a set of
/// forms that its readers want together, and may not lack what one of them wants.
static void lower(const ChoiceProblem::Delivery &delivery, ChoiceProblem &problem) {
  std::vector<const ChoiceProblem::Delivery::Reader *> readers;
  std::set<uint32_t> sets{0};
  auto wantsOf = [&](const ChoiceProblem::Delivery::Reader &reader) {
    std::set<uint32_t> wants;
    for (size_t i = 0; i < reader.wants.size(); ++i)
      if (problem.nodes[reader.node][i] != kForbidden)
        wants.insert(reader.wants[i]);
    return wants;
  };
  auto join = [&](const std::set<uint32_t> &wants) {
    std::set<uint32_t> joined;
    for (uint32_t set : sets)
      for (uint32_t want : wants)
        joined.insert(set | want);
    sets = std::move(joined);
  };
  for (const ChoiceProblem::Delivery::Reader &reader : delivery.readers) {
    std::set<uint32_t> wants = wantsOf(reader);
    if (wants.size() > 1)
      readers.push_back(&reader);
    else
      join(wants);
  }
  // Every choice of such a reader is forbidden, whatever is made for it.
  if (sets.empty())
    return;
  uint32_t always = *sets.begin();
  size_t rows = problem.nodes[delivery.from].size();
  auto costAt = [&](size_t i, uint32_t set) { return delivery.costs[(i << delivery.forms) + set]; };
  std::vector<double> costs;
  if (readers.empty()) {
    for (size_t i = 0; i < rows; ++i)
      problem.nodes[delivery.from][i] += costAt(i, always);
    return;
  }
  if (readers.size() == 1) {
    for (size_t i = 0; i < rows; ++i)
      for (uint32_t wants : readers.front()->wants)
        costs.push_back(costAt(i, always | wants));
    return problem.addEdge(delivery.from, readers.front()->node, std::move(costs));
  }
  for (const ChoiceProblem::Delivery::Reader *reader : readers)
    join(wantsOf(*reader));
  uint32_t made = problem.addNode(std::vector<double>(sets.size(), 0));
  for (size_t i = 0; i < rows; ++i)
    for (uint32_t set : sets)
      costs.push_back(costAt(i, set));
  problem.addEdge(delivery.from, made, std::move(costs));
  for (const ChoiceProblem::Delivery::Reader *reader : readers) {
    std::vector<double> lacks;
    for (uint32_t set : sets)
      for (uint32_t wants : reader->wants)
        lacks.push_back((wants & ~set) == 0 ? 0 : kForbidden);
    problem.addEdge(made, reader->node, std::move(lacks));
  }
}

ChoiceSolution solve(const ChoiceProblem &problem, uint64_t maxBranches) {
  if (problem.deliveries.empty())
    return Solver(problem, maxBranches).run();
  ChoiceProblem pairs;
  pairs.nodes = problem.nodes;
  pairs.edges = problem.edges;
  for (const ChoiceProblem::Delivery &delivery : problem.deliveries)
    lower(delivery, pairs);
  ChoiceSolution solution = Solver(pairs, maxBranches).run();
  bool isBest = solution.isOptimal();
  solution.candidates.resize(problem.nodes.size());
  // The cost is summed in the problem's order; the solver added the same terms in another one.
  solution.cost = costOf(problem, solution.candidates);
  solution.lowerBound = isBest ? solution.cost : std::min(solution.lowerBound, solution.cost);
  return solution;
}

} // namespace dtcc::plan
