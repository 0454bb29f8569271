//===- AssignStages.h - Gives every op of a step its stage of the pipeline
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_SPMD_LAYOUT_ASSIGNSTAGES_H
#define DTCC_PASSES_SPMD_LAYOUT_ASSIGNSTAGES_H

#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "planner/plan/Plan.h"

namespace dtcc::spmd {

/// The stage of an op of a step, if it was given one.
std::optional<int64_t> getStage(mlir::Operation *op);
void setStage(mlir::Operation *op, int64_t stage);

/// The stage of a reshard for `user`, if they have stages.
std::optional<int64_t> stageOfReshard(ReshardOp reshard, mlir::Operation *user, const Mesh &mesh);

/// Marks the ops of `step` (on whole tensors or on !spmd.tensor) with the stage of their
/// origin. Then only activations and their gradients cross stages:
/// - values that depend on parameters alone, on inputs alone or on nothing are recomputed in
///   each stage that reads them, so each such stage reads the parameter;
/// - the gradient of a parameter that several stages read (tied embeddings) is split into
///   the sums of each stage: `graph.update` then lists the state once a stage.
/// Fails with a message at the op whose weight gradient cannot be split so.
mlir::LogicalResult assignStages(mlir::func::FuncOp step, const plan::PipelinePlan &pipeline);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_ASSIGNSTAGES_H
