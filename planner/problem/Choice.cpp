//===- Choice.cpp - One choice a node, costs on nodes and edges
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph of nodes and merged edges is reduced in place; eliminated nodes are kept on a
// stack and chosen backwards. Nodes of more neighbours are eliminated by tables over them
// while these are small. Else branching fixes one node's candidate, which takes the node out
// of the graph, and reduces again.
//
//===----------------------------------------------------------------------===//

#include "planner/problem/Choice.h"
#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace dtcc::plan {

namespace {
using Matrix = std::vector<double>;

/// Costs and edges of an eliminated node, by which it is chosen once its neighbours are chosen.
struct Elimination {
  uint32_t node;
  std::vector<double> costs;
  std::map<uint32_t, Matrix> edges;
};

/// The problem while it shrinks. Copied at each branch: blocks are folded before they
/// get here, so graphs that do not reduce are small.
struct Graph {
  std::vector<std::vector<double>> nodes;
  std::vector<std::map<uint32_t, Matrix>> edges; // matrix rows belong to the owner
  std::vector<bool> gone;

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
  Elimination remove(uint32_t node);
};

Elimination Graph::remove(uint32_t node) {
  for (auto &entry : edges[node])
    edges[entry.first].erase(node);
  gone[node] = true;
  return {node, std::move(nodes[node]), std::move(edges[node])};
}

class Solver {
public:
  Solver(const ChoiceProblem &problem, uint64_t maxBranches) : problem(problem), branchesLeft(maxBranches) {}
  ChoiceSolution run();

private:
  void eliminate(Graph &graph, uint32_t node, std::vector<Elimination> &stack);
  void reduce(Graph &graph, std::vector<Elimination> &stack);
  bool eliminateAll(const Graph &graph, std::vector<Elimination> &stack) const;
  static void fix(Graph &graph, std::vector<Elimination> &stack, uint32_t node, uint32_t candidate);
  void search(Graph graph, std::vector<Elimination> stack);
  void improve(const Graph &graph, const std::vector<Elimination> &stack, uint64_t trials);
  void finish(const std::vector<Elimination> &stack);
  double bound(const Graph &graph, const std::vector<Elimination> &stack) const;

  const ChoiceProblem &problem;
  uint64_t branchesLeft, branches = 0;
  ChoiceSolution best;
  std::vector<uint32_t> branched, hubs; // the nodes that are fixed now, and those that were when `best` was found
  double openBound = kForbidden;        // least bound of what was not searched
};

/// R0, R1 and R2: the node's best answer to each choice of its neighbours becomes their cost.
void Solver::eliminate(Graph &graph, uint32_t node, std::vector<Elimination> &stack) {
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
    Matrix costs(rows * columns, kForbidden);
    for (size_t i = 0; i < rows; ++i)
      for (size_t k = 0; k < own.size(); ++k)
        for (size_t j = 0; j < columns; ++j) {
          double &least = costs[i * columns + j];
          least = std::min(least, own[k] + toA[k * rows + i] + toB[k * columns + j]);
        }
    graph.add(a, b, costs);
  }
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

/// A function of some nodes' candidates: the first is the outermost of its table.
struct Table {
  std::vector<uint32_t> nodes;
  std::vector<double> costs;
};

/// Costs that a table may hold: what is larger is branched on first.
constexpr double kLargestTable = 1 << 14;

/// Solves what is left by eliminating one node after the other, however many neighbours it has, as long as no table
/// becomes too large (Dechter, "Bucket elimination", 1999): exact. False if one would.
bool Solver::eliminateAll(const Graph &graph, std::vector<Elimination> &stack) const {
  std::vector<uint32_t> left;
  std::vector<std::vector<uint32_t>> allowed(graph.nodes.size()); // candidates that are not forbidden
  std::vector<std::set<uint32_t>> neighbours(graph.nodes.size());
  std::vector<Table> tables;
  std::vector<std::vector<size_t>> tablesOf(graph.nodes.size()); // in the order in which they were made
  auto addTable = [&](Table table) {
    for (uint32_t node : table.nodes)
      tablesOf[node].push_back(tables.size());
    tables.push_back(std::move(table));
  };
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (graph.gone[node])
      continue;
    Table own{{node}, {}};
    for (uint32_t i = 0; i < graph.nodes[node].size(); ++i)
      if (graph.nodes[node][i] != kForbidden) {
        allowed[node].push_back(i);
        own.costs.push_back(graph.nodes[node][i]);
      }
    if (own.costs.empty())
      return false; // nothing is possible: the search finds out
    addTable(std::move(own));
    left.push_back(node);
    for (auto &[other, costs] : graph.edges[node])
      neighbours[node].insert(other);
  }
  // The order, and whether it is possible: least table first. The size of a node's table changes with its neighbours.
  auto tableSize = [&](uint32_t node) {
    double size = double(allowed[node].size());
    for (uint32_t other : neighbours[node])
      size *= double(allowed[other].size());
    return size;
  };
  std::vector<double> sizes(graph.nodes.size(), kForbidden);
  for (uint32_t node : left)
    sizes[node] = tableSize(node);
  std::vector<uint32_t> order;
  for (std::vector<uint32_t> rest = left; !rest.empty();) {
    auto next = std::min_element(rest.begin(), rest.end(), [&](uint32_t a, uint32_t b) { return sizes[a] < sizes[b]; });
    if (sizes[*next] > kLargestTable)
      return false;
    order.push_back(*next);
    rest.erase(next);
    const std::set<uint32_t> &others = neighbours[order.back()];
    for (uint32_t a : others) {
      neighbours[a].erase(order.back());
      for (uint32_t b : others)
        if (a != b)
          neighbours[a].insert(b);
    }
    for (uint32_t a : others)
      sizes[a] = tableSize(a);
  }
  for (uint32_t node : left)
    for (auto &[other, costs] : graph.edges[node])
      if (node < other) {
        Table pair{{node, other}, {}};
        pair.costs.reserve(allowed[node].size() * allowed[other].size());
        for (uint32_t i : allowed[node])
          for (uint32_t j : allowed[other])
            pair.costs.push_back(costs[i * graph.nodes[other].size() + j]);
        addTable(std::move(pair));
      }
  struct Answer {
    uint32_t node;
    std::vector<uint32_t> of; // the nodes that it depends on
    std::vector<uint32_t> best;
  };
  std::vector<Answer> answers;
  for (uint32_t node : order) {
    // Joined: all tables that know the node, over it (innermost) and the others.
    Answer answer{node, {}, {}};
    std::vector<Table> mine;
    std::set<uint32_t> others;
    for (size_t number : tablesOf[node])
      // A table is joined once, and has no nodes then.
      if (!tables[number].nodes.empty()) {
        others.insert(tables[number].nodes.begin(), tables[number].nodes.end());
        mine.push_back(std::exchange(tables[number], {}));
      }
    others.erase(node);
    answer.of.assign(others.begin(), others.end());
    std::vector<uint32_t> scope = answer.of;
    scope.push_back(node);
    size_t count = 1;
    std::vector<size_t> sizes;
    for (uint32_t each : scope) {
      sizes.push_back(allowed[each].size());
      count *= sizes.back();
    }
    size_t own = sizes.back();
    std::vector<double> joined(count, 0);
    for (const Table &table : mine) {
      std::vector<size_t> strides(scope.size(), 0);
      for (size_t at = table.nodes.size(), stride = 1; at-- > 0; stride *= allowed[table.nodes[at]].size())
        strides[std::find(scope.begin(), scope.end(), table.nodes[at]) - scope.begin()] = stride;
      // The node itself is innermost, and in every one of these tables.
      size_t stride = strides.back(), index = 0;
      std::vector<uint32_t> digits(answer.of.size(), 0);
      for (size_t first = 0; first < count; first += own) {
        for (size_t i = 0; i < own; ++i)
          joined[first + i] += table.costs[index + i * stride];
        for (size_t at = digits.size(); at-- > 0;) {
          index += strides[at];
          if (++digits[at] < sizes[at])
            break;
          index -= strides[at] * digits[at];
          digits[at] = 0;
        }
      }
    }
    Table reduced{answer.of, {}};
    for (size_t first = 0; first < count; first += own) {
      auto best = std::min_element(joined.begin() + first, joined.begin() + first + own);
      reduced.costs.push_back(*best);
      answer.best.push_back(uint32_t(best - (joined.begin() + first)));
    }
    answers.push_back(std::move(answer));
    addTable(std::move(reduced));
  }
  // Backwards: each knows the answers of those it depends on.
  std::vector<uint32_t> chosen(graph.nodes.size(), 0);
  for (size_t at = answers.size(); at-- > 0;) {
    const Answer &answer = answers[at];
    size_t index = 0;
    for (uint32_t other : answer.of)
      index = index * allowed[other].size() + chosen[other];
    chosen[answer.node] = answer.best[index];
  }
  for (uint32_t node : left) {
    uint32_t candidate = allowed[node][chosen[node]];
    std::vector<double> only(graph.nodes[node].size(), kForbidden);
    only[candidate] = graph.nodes[node][candidate];
    stack.push_back({node, only, {}});
  }
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

/// The square of the nodes that are left, in units of `unit` nodes; at least one. What a branch and a trial count for:
/// the graph is copied, and an order of elimination is looked for.
static uint64_t priceOf(const Graph &graph, uint64_t unit) {
  uint64_t units = std::count(graph.gone.begin(), graph.gone.end(), false) / unit;
  return std::max<uint64_t>(1, units * units);
}

/// Takes the node out of the graph: its neighbours pay for the candidate.
void Solver::fix(Graph &graph, std::vector<Elimination> &stack, uint32_t node, uint32_t candidate) {
  for (auto &[other, costs] : graph.edges[node])
    for (uint32_t j = 0; j < graph.nodes[other].size(); ++j)
      graph.nodes[other][j] += costs[candidate * graph.nodes[other].size() + j];
  std::vector<double> only(graph.nodes[node].size(), kForbidden);
  only[candidate] = graph.nodes[node][candidate];
  stack.push_back({node, only, {}});
  graph.remove(node);
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
  if (eliminateAll(graph, stack))
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
    Graph fixed = graph;
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
void Solver::improve(const Graph &graph, const std::vector<Elimination> &stack, uint64_t trials) {
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
        Graph fixed = graph;
        std::vector<Elimination> trail = stack;
        branched = hubs;
        for (uint32_t node : branched)
          fix(fixed, trail, node, node == hub ? candidate : best.candidates[node]);
        reduce(fixed, trail);
        if (std::find(fixed.gone.begin(), fixed.gone.end(), false) == fixed.gone.end() || eliminateAll(fixed, trail))
          finish(trail);
      }
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
