//===- ApplyPlan.h - Annotates a training step with the layouts of a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_DIST_APPLYPLAN_H
#define DTCC_PASSES_DIST_APPLYPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/plan/Plan.h"

namespace dtcc::dist {

/// Rewrites the types of `@step` to !dist.tensor by the plan, puts a dist.reshard
/// where a producer and a consumer differ, adds the mesh, and writes on every state
/// its `dist.layout` and `dist.flat`. The module gets the plan as `dist.plan`. On bad
/// input one located message; the module is then not to be used further.
mlir::LogicalResult applyPlan(mlir::ModuleOp module, const plan::Plan &plan);

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_APPLYPLAN_H
