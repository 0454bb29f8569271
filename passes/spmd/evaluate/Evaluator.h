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
#include "passes/spmd/evaluate/LockStep.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::spmd {

class ProgramEvaluator {
public:
  /// The report of a step, which is equal on all ranks.
  struct Report {
    double lossSum = 0, count = 0, gradNorm = 0;
    bool operator==(const Report &) const = default;
  };

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
  const Report &reported() const { return report; }
  /// The whole states that it holds. Fails with a message if replicas differ, or padding is not zero.
  mlir::FailureOr<llvm::StringMap<HostTensor>> states() const;

  /// Local tensors, one for each rank of the program.
  Shards &valuesOf(mlir::Value value) { return lockStep.values[value]; }
  /// Cells of a bucket, for each rank.
  std::vector<std::vector<double>> &cellsOf(llvm::StringRef bucket) { return buckets.find(bucket)->second; }
  /// Mesh of the ranks of this program; the pipeline axis has size 1.
  const Mesh &mesh() const { return lockStep.mesh; }
  /// Sums within the stage what `op`, a reduction that concerns other stages, adds up.
  void reduceWithin(mlir::Operation *op);
  /// "backward 2".
  std::string where() const { return runs[run].str(); }

private:
  mlir::LogicalResult enterRun();
  void leaveRun(YieldOp yield);
  mlir::LogicalResult runOp(mlir::Operation *op, int64_t slot);
  /// The bucket and offset of a state in this program; null if it holds none.
  std::pair<mlir::FlatSymbolRefAttr, int64_t> placeOf(graph::StateOp state) const;
  void update(UpdateBucketOp op);
  /// The ops of UpdateOps.td, but for the update; false if `op` is none. In EvaluateUpdate.cpp.
  mlir::FailureOr<bool> runUpdateOp(mlir::Operation *op);
  /// The ops of UnitOps.td; false if `op` is none. In EvaluateUnits.cpp.
  bool runUnitOp(mlir::Operation *op, int64_t slot);
  void reduceBucket(ReduceBucketOp op, int64_t slot);
  /// All that the ranks that share a bucket with `rank` store of it.
  std::vector<double> wholeBucket(llvm::StringRef name, int64_t rank) const;
  std::vector<double> decayOf(mlir::FlatSymbolRefAttr bucket, double decay) const;

  mutable mlir::ModuleOp module; // handles: their accessors are not const
  mutable ProgramOp program;
  LockStep lockStep;
  llvm::StringMap<PhaseOp> phases;
  /// Runs of a step, the current run, and its next op.
  std::vector<PhaseRun> runs;
  size_t run = 0;
  mlir::Operation *next = nullptr;
  const llvm::StringMap<HostTensor> *inputs = nullptr;
  /// Values that phases yielded, by slot if the phase repeats.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, Shards> kept;
  /// Per bucket, per rank: what the rank stores.
  llvm::StringMap<std::vector<std::vector<double>>> buckets;
  int64_t step = 1;
  Report report;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_EVALUATE_EVALUATOR_H
