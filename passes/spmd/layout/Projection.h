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

/// For each factor of `op`, the factor of its forward op whose axes a plan gives to it; -1 for none. `isForward`: the
/// op computes what its forward op does, by the same factors. All who read the entries of a plan do it by this.
llvm::SmallVector<int64_t> plannedFactors(mlir::Operation *op, const FactorMap &map, bool isForward);
/// The factors of an op of a step, whose forward ops are those of the forward pass.
llvm::SmallVector<int64_t> plannedFactors(mlir::Operation *op, const FactorMap &map);

/// Returns the reason why the factor cannot take axes, or nothing if it can. Index and decompose
/// factors need a local form (see LocalForms.h).
std::optional<std::string> whyNotAssignable(mlir::Operation *op, const FactorMap &map, int64_t factor);

/// The placement that the types of a distributed op imply; a message and failure if
/// they imply none.
mlir::FailureOr<Placement> inferPlacement(mlir::Operation *op, const FactorMap &map);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_PROJECTION_H
