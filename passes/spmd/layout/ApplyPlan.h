//===- ApplyPlan.h - Annotates a training step with the layouts of a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_SPMD_LAYOUT_APPLYPLAN_H
#define DTCC_PASSES_SPMD_LAYOUT_APPLYPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/spmd/layout/ProductPadding.h"
#include "planner/plan/Plan.h"

namespace dtcc::spmd {

/// A unit attribute of the ops of an expert layer: its tokens are sent only to the ranks that hold their experts.
/// spmd-dispatch-experts does so, and removes it.
inline constexpr llvm::StringLiteral kDispatchAttr = "spmd.dispatch";

/// An f64 beside kDispatchAttr (plan::OpPlan::capacity): ranks have room for this many times the mean number of rows.
inline constexpr llvm::StringLiteral kCapacityAttr = "spmd.capacity";

/// Rewrites the types of `@step` to !spmd.tensor by the plan, puts an spmd.reshard
/// where a producer and a consumer differ, adds the mesh, and writes on every state
/// its `spmd.layout` and `spmd.flat`. The module gets the plan as `spmd.plan` (PlanAttribute.h). Dimensions of products
/// are padded by `padding`, too. On bad input one located message; the module is then not to be used further.
mlir::LogicalResult applyPlan(mlir::ModuleOp module, const plan::Plan &plan, const ProductPadding &padding = {});

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_APPLYPLAN_H
