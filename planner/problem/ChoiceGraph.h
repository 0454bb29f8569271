//===- ChoiceGraph.h - A choice problem while its solver takes nodes out
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph of a ChoiceProblem, with parallel edges merged. The solver reduces it in place: each node that it takes out
// becomes an Elimination, from which the node is chosen once its neighbours are.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PROBLEM_CHOICEGRAPH_H
#define DTCC_PLANNER_PROBLEM_CHOICEGRAPH_H

#include "planner/problem/Choice.h"
#include <cstdint>
#include <map>
#include <vector>

namespace dtcc::plan {

/// Costs of pairs of candidates, row-major.
using CostMatrix = std::vector<double>;

/// Costs and edges of an eliminated node, by which it is chosen once its neighbours are chosen.
struct Elimination {
  uint32_t node;
  std::vector<double> costs;
  std::map<uint32_t, CostMatrix> edges;
};

/// The problem while it shrinks. Each branch copies it: blocks are folded before they get here, so graphs that do not
/// reduce are small.
struct ChoiceGraph {
  std::vector<std::vector<double>> nodes;
  std::vector<std::map<uint32_t, CostMatrix>> edges; // matrix rows belong to the owner
  std::vector<bool> gone;

  void add(uint32_t from, uint32_t to, const CostMatrix &costs);
  /// Takes a node out, with its edges.
  Elimination remove(uint32_t node);
  /// The elimination of a node of whose candidates one is chosen already.
  Elimination only(uint32_t node, uint32_t candidate) const;
};

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_CHOICEGRAPH_H
