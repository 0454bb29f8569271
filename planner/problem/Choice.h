//===- Choice.h - One choice a node, costs on nodes and edges
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The problem under every placement inside a mesh: each node takes one of its
// candidates; a candidate costs something by itself, and a pair of candidates of
// neighbouring nodes costs something together (a reshard). Least total cost wins.
// Known as the partitioned boolean quadratic problem (Scholz and Eckstein, "Register
// allocation for irregular architectures", 2002). What several nodes want of one in the
// same form (a value in a layout) is paid once: a delivery. It becomes a node of its own,
// whose candidates are the sets of forms that are made, with edges to all that are concerned.
//
// Check the problem, solve, verify the solution: each is a function on plain values.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PROBLEM_CHOICE_H
#define DTCC_PLANNER_PROBLEM_CHOICE_H

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace dtcc::plan {

/// The cost of what must not happen.
constexpr double kForbidden = std::numeric_limits<double>::infinity();

struct ChoiceProblem {
  /// Cost of each candidate of each node (not negative; kForbidden allowed).
  std::vector<std::vector<double>> nodes;

  struct Edge {
    uint32_t from, to; // nodes; from != to
    /// Row-major: [candidate of from][candidate of to].
    std::vector<double> costs;
  };
  /// Parallel edges add up.
  std::vector<Edge> edges;

  /// A value of a node that others read in several forms. Each form is made once, however many readers want it.
  struct Delivery {
    static constexpr unsigned kMostForms = 12;
    uint32_t from;
    /// Number of forms. A set of forms is a number, in which form `f` is the bit `1 << f`.
    unsigned forms;
    /// Row-major: [candidate of from][set of forms that are made]; of more forms no less.
    std::vector<double> costs;
    struct Reader {
      uint32_t node; // not `from`; each once
      /// Set of forms that each candidate needs.
      std::vector<uint32_t> wants;
    };
    std::vector<Reader> readers;
  };
  std::vector<Delivery> deliveries;

  uint32_t addNode(std::vector<double> costs);
  void addEdge(uint32_t from, uint32_t to, std::vector<double> costs);
  /// Returns an error, or "": an empty node, a matrix of the wrong size, a negative or undefined
  /// cost, a delivery of more forms that costs less.
  std::string check() const;
};

struct ChoiceSolution {
  std::vector<uint32_t> candidates; // one a node
  double cost = 0;
  /// Lower bound on the cost of all solutions. Equal to `cost` if the solution is proven best.
  double lowerBound = 0;
  /// Search steps beyond the exact reductions.
  uint64_t branches = 0;

  bool isOptimal() const { return lowerBound >= cost; }
};

/// The cost of a choice; kForbidden if it is forbidden.
double costOf(const ChoiceProblem &problem, const std::vector<uint32_t> &candidates);

/// Exact reductions of nodes with at most two neighbours (R0, R1, R2), then of nodes with
/// more, by tables over their neighbours; where these would be too large, branch and bound on
/// the node of most neighbours, at most `maxBranches` of them. A branch of a large graph counts for
/// more (by the square of its nodes): steps of a recurrent layer that share their weights neither
/// reduce nor fold. Past the limit the best solution so far, improved one branched node at a time, is
/// returned with its bound. A delivery to one node is an edge, to several a node between
/// them. Deterministic: among equal costs the lower candidate wins.
ChoiceSolution solve(const ChoiceProblem &problem, uint64_t maxBranches = 100000);

/// All choices, for small problems: the oracle.
ChoiceSolution solveExhaustively(const ChoiceProblem &problem);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_CHOICE_H
