//===- PlaceExperts.h - Which ranks hold which experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The axis `ep` reuses ranks of data parallelism: outside of the expert layers it splits
// examples, as `dp` does; at an expert layer it splits the experts, so that the tokens of
// a group of `ep` ranks meet all experts of the group. The states of experts lie split
// over it, their gradients are partial over the other batch axes alone, and ZeRO shares
// them over these; all that follows from the factors.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_DIST_PLACEEXPERTS_H
#define DTCC_PASSES_DIST_PLACEEXPERTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/plan/Plan.h"

namespace dtcc::dist {

/// Adds an axis `ep` of `size` ranks to a plan without one, innermost of those that split
/// the examples. Size 1 changes nothing.
void addExpertAxis(plan::Plan &plan, int64_t size);

/// Gives `ep` to the experts of every expert layer and to their states. Fails with a
/// message if the plan has the axis and the step has no such layer, or fewer experts.
mlir::LogicalResult placeExperts(mlir::ModuleOp module, mlir::func::FuncOp step, plan::Plan &plan);

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_PLACEEXPERTS_H
