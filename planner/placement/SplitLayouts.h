//===- SplitLayouts.h - How ops lie when the model is split over some axes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shape is placed up to three times, which differ in the classes that are padded. What an op looks like under a
// candidate, and what it costs to bring a value from one layout to another, is the same for all of them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLACEMENT_SPLITLAYOUTS_H
#define DTCC_PLANNER_PLACEMENT_SPLITLAYOUTS_H

#include "passes/spmd/layout/Projection.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "planner/plan/Plan.h"
#include <map>

namespace dtcc::spmd {

class SplitLayouts {
public:
  /// `share`: see solvePlacement.
  SplitLayouts(const plan::Plan &plan, const cost::Machine &machine, bool share);

  const PlannedOp &plannedOf(mlir::Operation *op);
  /// The placement of an op whose forward op gives all of the axes to the factor `candidate`; -1: to none.
  Placement placementOf(mlir::Operation *op, int64_t candidate);
  /// The layouts of operands and results in that placement; nothing if it is impossible.
  const std::optional<OpLayouts> &layoutsOf(mlir::Operation *op, int64_t candidate);

  /// The axes that are given to factors, all together, and the number of ranks that they join.
  const Axes axes;
  const int64_t group;
  const bool share;
  /// The machine as the search is to see it.
  const cost::Machine machine;
  MovePricer moves;

private:
  std::map<mlir::Operation *, PlannedOp> planned;                                    // what plannedOf found
  std::map<std::pair<mlir::Operation *, int64_t>, std::optional<OpLayouts>> layouts; // what layoutsOf found
};

/// The layouts of an op in a placement; nothing if it is impossible.
std::optional<OpLayouts> layoutsIn(const FactorMap &map, const Placement &placement);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_PLACEMENT_SPLITLAYOUTS_H
