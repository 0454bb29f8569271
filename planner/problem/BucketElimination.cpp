//===- BucketElimination.cpp - The exact solution of a narrow choice problem
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/BucketElimination.h"
#include <algorithm>
#include <set>
#include <utility>

namespace dtcc::plan {

namespace {

/// A function of some nodes' candidates: the first node is the outermost of its table.
struct Table {
  std::vector<uint32_t> nodes;
  std::vector<double> costs;
};

/// Costs that a table may hold: what is larger is branched on first.
constexpr double kLargestTable = 1 << 14;

/// The best candidate of an eliminated node, for each choice of the nodes that it depends on.
struct Answer {
  uint32_t node;
  std::vector<uint32_t> of;
  std::vector<uint32_t> best;
};

/// One run over a graph. Candidates are numbered among those that are not forbidden, except in what `run` returns.
class BucketElimination {
public:
  explicit BucketElimination(const ChoiceGraph &graph)
      : graph(graph), allowed(graph.nodes.size()), tablesOf(graph.nodes.size()) {}
  std::optional<std::vector<uint32_t>> run();

private:
  bool addNodes();
  bool chooseOrder();
  void addEdges();
  Answer eliminate(uint32_t node);
  std::vector<uint32_t> choose(const std::vector<Answer> &answers) const;

  void addTable(Table table);
  std::vector<Table> takeTables(uint32_t node);
  void join(const Table &table, const std::vector<uint32_t> &scope, std::vector<double> &joined) const;
  size_t countOf(uint32_t node) const { return allowed[node].size(); }

  const ChoiceGraph &graph;
  std::vector<uint32_t> left, order;
  /// Candidates of each node that are not forbidden.
  std::vector<std::vector<uint32_t>> allowed;
  std::vector<Table> tables;
  /// Numbers of the tables of each node, in the order in which they were made.
  std::vector<std::vector<size_t>> tablesOf;
};

} // namespace

void BucketElimination::addTable(Table table) {
  for (uint32_t node : table.nodes)
    tablesOf[node].push_back(tables.size());
  tables.push_back(std::move(table));
}

/// Adds a table of the own costs of each node that is left. False if a node has no candidate.
bool BucketElimination::addNodes() {
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
      return false;
    addTable(std::move(own));
    left.push_back(node);
  }
  return true;
}

/// Orders the nodes by the size of the table that each needs when its turn comes, least first. False if one is too
/// large.
bool BucketElimination::chooseOrder() {
  std::vector<std::set<uint32_t>> neighbours(graph.nodes.size());
  for (uint32_t node : left)
    for (auto &[other, costs] : graph.edges[node])
      neighbours[node].insert(other);
  auto tableSize = [&](uint32_t node) {
    double size = double(countOf(node));
    for (uint32_t other : neighbours[node])
      size *= double(countOf(other));
    return size;
  };
  std::vector<double> sizes(graph.nodes.size(), kForbidden);
  for (uint32_t node : left)
    sizes[node] = tableSize(node);
  for (std::vector<uint32_t> rest = left; !rest.empty();) {
    auto next = std::min_element(rest.begin(), rest.end(), [&](uint32_t a, uint32_t b) { return sizes[a] < sizes[b]; });
    if (sizes[*next] > kLargestTable)
      return false;
    order.push_back(*next);
    rest.erase(next);
    // The new table makes neighbours of all that it is over.
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
  return true;
}

/// Adds a table of the costs of each edge.
void BucketElimination::addEdges() {
  for (uint32_t node : left)
    for (auto &[other, costs] : graph.edges[node])
      if (node < other) {
        Table pair{{node, other}, {}};
        pair.costs.reserve(countOf(node) * countOf(other));
        for (uint32_t i : allowed[node])
          for (uint32_t j : allowed[other])
            pair.costs.push_back(costs[i * graph.nodes[other].size() + j]);
        addTable(std::move(pair));
      }
}

/// The tables of `node`. A table is taken once, and has no nodes then.
std::vector<Table> BucketElimination::takeTables(uint32_t node) {
  std::vector<Table> taken;
  for (size_t number : tablesOf[node])
    if (!tables[number].nodes.empty())
      taken.push_back(std::exchange(tables[number], {}));
  return taken;
}

/// Adds a table to `joined`, which is over `scope`. The last node of the scope, and so the innermost, is in every table
/// that is joined.
void BucketElimination::join(const Table &table, const std::vector<uint32_t> &scope,
                             std::vector<double> &joined) const {
  std::vector<size_t> strides(scope.size(), 0); // of the table; 0 for a node that it is not over
  for (size_t at = table.nodes.size(), stride = 1; at-- > 0; stride *= countOf(table.nodes[at]))
    strides[std::find(scope.begin(), scope.end(), table.nodes[at]) - scope.begin()] = stride;
  const size_t count = countOf(scope.back()), stride = strides.back();
  // The candidates of the other nodes, counted up as the digits of a number are.
  std::vector<uint32_t> digits(scope.size() - 1, 0);
  for (size_t first = 0, index = 0; first < joined.size(); first += count) {
    for (size_t i = 0; i < count; ++i)
      joined[first + i] += table.costs[index + i * stride];
    for (size_t at = digits.size(); at-- > 0;) {
      index += strides[at];
      if (++digits[at] < countOf(scope[at]))
        break;
      index -= strides[at] * digits[at];
      digits[at] = 0;
    }
  }
}

/// Replaces all tables of `node` by one of its best costs, over the other nodes of these tables.
Answer BucketElimination::eliminate(uint32_t node) {
  std::vector<Table> mine = takeTables(node);
  std::set<uint32_t> others;
  for (const Table &table : mine)
    others.insert(table.nodes.begin(), table.nodes.end());
  others.erase(node);
  Answer answer{node, {others.begin(), others.end()}, {}};
  std::vector<uint32_t> scope = answer.of;
  scope.push_back(node);
  size_t size = 1;
  for (uint32_t each : scope)
    size *= countOf(each);
  std::vector<double> joined(size, 0);
  for (const Table &table : mine)
    join(table, scope, joined);
  Table reduced{answer.of, {}};
  for (auto own = joined.begin(); own != joined.end(); own += countOf(node)) {
    auto best = std::min_element(own, own + countOf(node));
    reduced.costs.push_back(*best);
    answer.best.push_back(uint32_t(best - own));
  }
  addTable(std::move(reduced));
  return answer;
}

/// Chooses the nodes backwards: each depends on nodes that were eliminated after it.
std::vector<uint32_t> BucketElimination::choose(const std::vector<Answer> &answers) const {
  std::vector<uint32_t> chosen(graph.nodes.size(), 0);
  for (size_t at = answers.size(); at-- > 0;) {
    const Answer &answer = answers[at];
    size_t index = 0;
    for (uint32_t other : answer.of)
      index = index * countOf(other) + chosen[other];
    chosen[answer.node] = answer.best[index];
  }
  for (uint32_t node : left)
    chosen[node] = allowed[node][chosen[node]];
  return chosen;
}

std::optional<std::vector<uint32_t>> BucketElimination::run() {
  if (!addNodes() || !chooseOrder())
    return std::nullopt;
  addEdges();
  std::vector<Answer> answers;
  for (uint32_t node : order)
    answers.push_back(eliminate(node));
  return choose(answers);
}

std::optional<std::vector<uint32_t>> solveByTables(const ChoiceGraph &graph) { return BucketElimination(graph).run(); }

} // namespace dtcc::plan
