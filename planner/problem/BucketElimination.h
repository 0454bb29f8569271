//===- BucketElimination.h - The exact solution of a narrow choice problem
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are eliminated one after the other, however many neighbours they have: the best cost of a node becomes a table
// over the candidates of its neighbours (Dechter, "Bucket elimination", 1999). This is exact, and as fast as the
// largest table is small.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PROBLEM_BUCKETELIMINATION_H
#define DTCC_PLANNER_PROBLEM_BUCKETELIMINATION_H

#include "planner/problem/ChoiceGraph.h"
#include <optional>

namespace dtcc::plan {

/// The candidate of each node that is left in `graph`, in a best solution. Nothing if a table would become too large,
/// or if all candidates of a node are forbidden.
std::optional<std::vector<uint32_t>> solveByTables(const ChoiceGraph &graph);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PROBLEM_BUCKETELIMINATION_H
