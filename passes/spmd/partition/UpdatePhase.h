//===- UpdatePhase.h - What every rank does at the end of a step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_SPMD_PARTITION_UPDATEPHASE_H
#define DTCC_PASSES_SPMD_PARTITION_UPDATEPHASE_H

#include "passes/spmd/partition/Buckets.h"

namespace dtcc::spmd {

/// The facts of the step that the update phase needs.
struct UpdateDescription {
  mlir::Location loc;
  /// Axes over which loss sum and count are still partial, in the order of the mesh.
  Axes lossPartial, countPartial;
  /// Null: a step that updates nothing.
  mlir::Attribute optimizer;
  double clip = 0;
  /// Null: gradients are not scaled.
  graph::LossScaleAttr lossScale;
  /// In a pipeline, the axis of the stages, and the stage of this update.
  std::string axis;
  int64_t stage = 0;
  /// The weight of the average of the parameters over the steps; 0: there is none.
  double average = 0;
};

/// Whether the user wants each parameter to change once its own gradient is complete (graph.update's `early`).
bool wantsEarlyUpdates(mlir::ModuleOp module);
/// Whether the user wants early updates, and one run of one phase completes the gradients. With several micro-batches
/// or stages gradients are there until the last one has added to them, and nothing is gained: then updates are late.
bool updatesEarly(mlir::ModuleOp module, const Mesh &mesh);

/// Builds the phase's ops at the builder's place: loss and count reduced; per bucket the
/// gradients reduced in place (under ZeRO each rank its share), the norm over all logical
/// elements, the update, the gather of the shares unless parameters are kept as shares. In a pipeline, the
/// gradient of a parameter with several owners is also summed over these; loss, count and
/// norm are over all stages, a parameter with several owners counted by the first. If the program has the attribute
/// graph::kEarlyAttr, updates come in the order in which their gradients are complete.
void emitUpdate(mlir::OpBuilder &builder, const UpdateDescription &step, const Buckets &buckets, const Mesh &mesh);

/// Writes on a program what later passes must know of its update: an optimizer that leaves some buckets to another one,
/// the weight of averages, and whether updates are early.
void nameOptimizer(ProgramOp program, graph::UpdateOp update, const Mesh &mesh);

/// Builds, at the end of `body`, a phase in which parameters that train are exchanged with their averages, if there are
/// any: readers then see the averages, and behind a second exchange the parameters again.
void emitAverageExchange(mlir::OpBuilder &builder, mlir::Block &body, mlir::Location loc, llvm::StringRef phase,
                         const Buckets &buckets);

/// Builds the end of an evaluation: loss and count reduced as in a step, and its prediction, which is partial over the
/// axes `partial`; null without one.
void emitScore(mlir::OpBuilder &builder, const UpdateDescription &step, mlir::Value prediction, const Axes &partial);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_UPDATEPHASE_H
