//===- CompareNext.h - Which plan's program is compared next
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search compiles few of the plans whose estimates are near the best one. Estimates of plans with one mesh err alike,
// and plans that differ in stationary weights alone mostly have one program. So two plans are taken by their estimates
// alone, and those behind them are of meshes whose programs are not known yet, if their estimates are hardly above.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SEARCH_COMPARENEXT_H
#define DTCC_PLANNER_SEARCH_COMPARENEXT_H

#include "planner/parallelism/Parallelism.h"
#include <cstddef>
#include <span>

namespace dtcc::plan {

/// The parts of a plan that decide when its program is compared.
struct ComparedPlan {
  Parallelism shape;
  /// The estimate of its step.
  double seconds = 0;
};

/// The number of the plan to compare next among `waiting`, which has one at least and begins with the least estimate.
/// `compared`: the plans whose programs are known, or will be before this one's.
size_t compareNext(std::span<const ComparedPlan> compared, std::span<const ComparedPlan> waiting);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SEARCH_COMPARENEXT_H
