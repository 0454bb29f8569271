//===- Projection.h - Layouts of operands and results from the axes of factors
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op is placed by giving axes to its factors. The layouts of its operands and
// results are projections of that, so an op cannot disagree with itself:
//
//  - a dimension carries the axes of the factor that it walks;
//  - a result without a factor is partial over its axes if the factor is a reduction
//    (or an index factor that gives partial results), else equal on all of them;
//  - partial sums flow through all operands of one linear set to all results;
//  - an operand of which shards read their own parts is partial over the factor's axes.
//
// The way back, from types to the placement, is what verifies an op (rules V2, V3).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_PROJECTION_H
#define DTCC_PASSES_SPMD_LAYOUT_PROJECTION_H

#include "passes/spmd/layout/Placement.h"
#include "llvm/Support/Error.h"

namespace dtcc::spmd {

/// Whether `factor` is a reduction for a result that does not walk it.
bool isReduction(const Factor &factor);

/// Projects a placement. Fails with a reason if the results would be partial in two
/// ways, or partial sums pass an op that is not linear.
llvm::Expected<OpLayouts> project(const FactorMap &map, const Placement &placement);

/// Returns the reason why the factor cannot take axes, or nothing if it can. Index and decompose
/// factors need a local form (see LocalForms.h).
std::optional<std::string> whyNotAssignable(mlir::Operation *op, const FactorMap &map, int64_t factor);

/// The factors of an op of a step as the entries of a plan see them, which list factors of forward ops. Every way from
/// a plan to layouts begins here: applying, solving and pricing differ in the axes that they give.
struct PlannedOp {
  /// An op whose forward op is of the forward pass.
  explicit PlannedOp(mlir::Operation *op);
  /// `isForward`: the op computes what its forward op does, by the same factors.
  PlannedOp(mlir::Operation *op, bool isForward);

  /// The axes of each factor, if the factors of the forward op have the axes that `forward` returns.
  std::vector<Axes> axesFrom(llvm::function_ref<Axes(int64_t)> forward) const;
  /// The axes of axesFrom as a placement: an axis that several factors would have goes to the first.
  Placement place(llvm::function_ref<Axes(int64_t)> forward) const;

  FactorMap map;
  /// The factor of the forward op whose axes each factor takes; -1 for none.
  llvm::SmallVector<int64_t> sources;
  /// Whether each factor can take axes.
  llvm::SmallVector<bool> assignable;
};

/// The placement that the types of a distributed op imply; a message and failure if
/// they imply none.
mlir::FailureOr<Placement> inferPlacement(mlir::Operation *op, const FactorMap &map);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_PROJECTION_H
