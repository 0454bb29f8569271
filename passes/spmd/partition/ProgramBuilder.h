//===- ProgramBuilder.h - Builds the program of a rank from a distributed step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The builder makes the program of one stage of a pipeline, or of a step without stages, for spmd-lower-to-program.
// ProgramBuilder.cpp decides which op belongs to which phase, and PhaseOps.cpp makes the ops of each phase.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_PARTITION_PROGRAMBUILDER_H
#define DTCC_PASSES_SPMD_PARTITION_PROGRAMBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/spmd/partition/Buckets.h"
#include "passes/spmd/partition/LocalOps.h"
#include "passes/spmd/partition/StageMap.h"
#include "passes/spmd/reshard/ReshardPlanner.h"

namespace dtcc::spmd {

/// Builds one program of a step: the only one, or that of one stage of a pipeline.
class ProgramBuilder {
public:
  /// With `stages`, builds the program of stage `stage`.
  ProgramBuilder(mlir::ModuleOp module, mlir::func::FuncOp step, MeshOp meshOp, const StageMap *stages, int64_t stage)
      : module(module), step(step), meshOp(meshOp), stages(stages), stage(stage), mesh(toMesh(meshOp)), planner(mesh),
        builder(module.getContext()) {}

  mlir::LogicalResult run();

private:
  /// Indices of the phases of a program without stages; an op of another stage has none.
  enum PhaseNumber : int64_t { Elsewhere = -1, Prologue = 0, Microbatch = 1, Evaluate = 2 };

  /// Whether this stage computes `value`.
  bool isHere(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    std::optional<PhasePlace> place = stages && op ? stages->placeOf(op) : std::nullopt;
    return !stages || (place && place->rank == stage);
  }
  mlir::LogicalResult collect();
  mlir::LogicalResult planBuckets();
  void assignPhases();
  mlir::LogicalResult placeWrites();
  void addSinks();
  mlir::LogicalResult emitPhase(int64_t phase);
  /// Ops that a phase computes, or whose values it receives, in the order of the step.
  llvm::SmallVector<mlir::Operation *> opsWithValuesIn(int64_t phase) const;
  mlir::LogicalResult emitPhases(mlir::Block &body, int64_t begin, int64_t end);
  void emitUpdatePhase(ProgramOp program);
  mlir::LogicalResult emitEvaluation(mlir::Block &body);
  void setActions(ProgramOp program);
  void emitInput(mlir::BlockArgument argument);
  void receive(const StageEdge &edge);
  void send(const StageEdge &edge);
  mlir::LogicalResult emitOp(mlir::Operation &op);
  mlir::LogicalResult emitReshard(ReshardOp op);
  void markWaiting(mlir::Value value);
  /// False after a message.
  bool emitFactored(mlir::Operation &op);
  /// The local value of `value` in the phase being built; views and constants come to be here.
  mlir::Value local(mlir::Value value);
  void accumulate(mlir::Value value);
  /// The rank axes over which a sum over the batch is partial.
  Axes partialOf(mlir::Value value) const;

  /// Whether `value` is recomputed in each phase that reads it.
  bool isRemade(mlir::Value value) const;
  /// Whether a phase after `phase` reads `value`, or a recomputed value that depends on `value`.
  bool isReadAfter(mlir::Value value, int64_t phase) const;
  mlir::RankedTensorType localTypeOf(mlir::Value value) const {
    return localType(mlir::cast<TensorType>(value.getType()), mesh);
  }

  mlir::ModuleOp module;
  mlir::func::FuncOp step;
  MeshOp meshOp;
  const StageMap *stages;
  int64_t stage;
  Mesh mesh;
  ReshardPlanner planner;
  mlir::OpBuilder builder;
  Buckets buckets;
  graph::UpdateOp update;
  mlir::Value lossSum, count;
  /// The sums of the evaluation, and its prediction; null without one.
  mlir::Value evaluatedSum, evaluatedCount, prediction;
  /// The phases of the evaluation begin here; the number of all phases without one.
  int64_t firstEvaluation = 0;

  /// Buckets and offsets into which a value is accumulated.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<mlir::FlatSymbolRefAttr, int64_t>>> sinks;
  llvm::DenseMap<mlir::Operation *, int64_t> phases;
  /// Ops of this stage, and of each of its phases, in the order of the step. A step of many stages is long, so they are
  /// collected once.
  std::vector<mlir::Operation *> opsHere;
  std::vector<std::vector<mlir::Operation *>> opsOf;
  llvm::SmallVector<graph::WriteOp> writes;
  /// States of which this stage has a copy and other stages make the gradient.
  llvm::SmallVector<llvm::StringRef> withoutGradient;
  llvm::SmallVector<std::string> phaseNames;
  int64_t current = Prologue;
  /// Local values of the phases so far, and recomputed values of the current phase.
  llvm::DenseMap<mlir::Value, mlir::Value> values, remade;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_PROGRAMBUILDER_H
