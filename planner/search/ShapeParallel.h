//===- ShapeParallel.h - A shape as the cost model takes it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SEARCH_SHAPEPARALLEL_H
#define DTCC_PLANNER_SEARCH_SHAPEPARALLEL_H

#include "planner/cost/Parallel.h"
#include "planner/search/ShapeSearch.h"

namespace dtcc::plan {

/// Axes, micro-batches, schedule and ZeRO stage of a shape. What a shape does not say (recomputation, groups that share
/// state) is as cost::Parallel has it.
cost::Parallel parallelOf(const PlanShape &shape);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SEARCH_SHAPEPARALLEL_H
