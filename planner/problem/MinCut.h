//===- MinCut.h - The cheapest set of nodes between sources and sinks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Minimum node cut of a directed graph with node weights: the nodes of least total weight
// without which no path leads from a source to a sink. By the max-flow min-cut theorem
// (Ford and Fulkerson 1956) on the graph with every node split in two; the flow is
// Dinic's (1970). Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PROBLEM_MINCUT_H
#define DTCC_PLANNER_PROBLEM_MINCUT_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace dtcc::plan {

using std::size_t;

class MinCut {
public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

  /// Adds a node that costs `weight` (at least 0; kNever: not to be cut) and returns its number.
  size_t addNode(int64_t weight);
  void addEdge(size_t from, size_t to);
  void addSource(size_t node);
  void addSink(size_t node);

  /// The nodes of a cheapest cut, of all cheapest the one nearest the sinks, in order.
  /// The result is also empty if no finite cut exists: see isPossible.
  std::vector<size_t> solve();
  /// After solve(): its weight, and whether it is finite.
  int64_t weight() const { return flow; }
  bool isPossible() const { return flow < kNever; }

private:
  struct Arc {
    size_t to;
    int64_t capacity;
  };
  void addArc(size_t from, size_t to, int64_t capacity);
  /// Nodes 2 i (in) and 2 i + 1 (out); the source and the sink come first.
  static size_t in(size_t node) { return 2 + 2 * node; }
  static size_t out(size_t node) { return 3 + 2 * node; }
  bool findLevels();
  /// Sends as much as the levels let through from the source to the sink.
  int64_t push();

  size_t count = 0;
  std::vector<Arc> arcs; /* the reverse of arc i is arc i ^ 1 */
  std::vector<std::vector<size_t>> leaving{2};
  std::vector<int64_t> level;
  std::vector<size_t> next;
  int64_t flow = 0;
};

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_MINCUT_H
