//===- Evaluator.h - Runs the program of a rank for all its ranks at once
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle of the spmd level: an spmd.program in one process, all ranks in lock-step, in
// f64. What ranks must agree on is compared: reports, and the replicas of states. In a
// pipeline it is the program of one stage, which stops at what concerns other stages;
// StepEvaluator.h runs all of them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_EVALUATE_EVALUATOR_H
#define DTCC_PASSES_SPMD_EVALUATE_EVALUATOR_H

#include "dialects/graph/Graph.h"
#include "dialects/interfaces/PhaseRun.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/spmd/evaluate/RankStorage.h"

namespace dtcc::spmd {

class ProgramEvaluator {
public:
  using Report = RankStorage::Report;

  explicit ProgramEvaluator(mlir::ModuleOp module, ProgramOp program, uint64_t seed = 0);

  /// Starts with these states (by symbol name); gaps are zero, slots too where a state says nothing of them. Fails with
  /// a message.
  mlir::LogicalResult initialize(const llvm::StringMap<HostTensor> &states);
  /// Begins a step on whole inputs (by name), which live until it ends.
  void begin(const llvm::StringMap<HostTensor> &inputs);
  /// Goes on to the end of the step (null), or to the next op that concerns other stages: it is
  /// passed over, and its values are the caller's to move. Fails with a message.
  mlir::FailureOr<mlir::Operation *> advance();
  /// The report of the last step.
  const Report &reported() const { return storage.report; }
  /// The whole states that it holds. Fails with a message if replicas differ, or padding is not zero.
  mlir::FailureOr<llvm::StringMap<HostTensor>> states() const;

  /// Local tensors, one for each rank of the program.
  Shards &valuesOf(mlir::Value value) { return storage.lockStep.values[value]; }
  /// Cells of a bucket, for each rank.
  std::vector<std::vector<double>> &cellsOf(llvm::StringRef bucket) { return storage.buckets.find(bucket)->second; }
  /// Mesh of the ranks of this program; the pipeline axis has size 1.
  const Mesh &mesh() const { return storage.lockStep.mesh; }
  /// Sums within the stage what `op`, a reduction that concerns other stages, adds up.
  void reduceWithin(mlir::Operation *op);
  /// "backward 2".
  std::string where() const { return runs[run].str(); }

private:
  mlir::LogicalResult enterRun();
  void leaveRun();

  RankStorage storage;
  StorageOps ops;
  llvm::StringMap<PhaseOp> phases;
  /// Runs of a step, the current run, and its next op.
  llvm::SmallVector<PhaseRun> runs;
  size_t run = 0;
  mlir::Operation *next = nullptr;
  /// Values that phases yielded, by slot if the phase repeats.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, Shards> kept;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_EVALUATE_EVALUATOR_H
