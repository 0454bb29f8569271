//===- PlanAttribute.h - A plan as the attribute of a module, and back
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Searches compute with plan::Plan; a module holds the same as #spmd.plan. Both directions
// keep everything.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_PLANATTRIBUTE_H
#define DTCC_PASSES_SPMD_LAYOUT_PLANATTRIBUTE_H

#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "planner/plan/Plan.h"

namespace dtcc::spmd {

/// The attribute of `plan`, whose mesh is the op `mesh`.
PlanAttr toAttribute(mlir::MLIRContext *context, const plan::Plan &plan, mlir::FlatSymbolRefAttr mesh);
/// The plan of an attribute that was verified, on its mesh.
plan::Plan toPlan(PlanAttr attribute, const Mesh &mesh);
plan::PipelinePlan toPipelinePlan(PipelineAttr attribute);

/// The plan that `module` carries out; null if none was applied.
PlanAttr planOf(mlir::ModuleOp module);

/// The step that a plan was applied to, and its mesh. Fails with a message if none was.
mlir::FailureOr<std::pair<mlir::func::FuncOp, MeshOp>> findDistributedStep(mlir::ModuleOp module);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_PLANATTRIBUTE_H
