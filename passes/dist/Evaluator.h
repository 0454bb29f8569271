//===- Evaluator.h - Runs the program of a rank for all ranks at once
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle of the dist level: a dist.program in one process, all ranks in lock-step, in
// f64. What ranks must agree on is compared: reports, and the replicas of states.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_DIST_EVALUATOR_H
#define DTCC_PASSES_DIST_EVALUATOR_H

#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/dist/LockStep.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::dist {

class ProgramEvaluator {
public:
  /// What a step reports; all ranks said the same.
  struct Report {
    double lossSum = 0, count = 0, gradNorm = 0;
  };

  explicit ProgramEvaluator(mlir::ModuleOp module, ProgramOp program, uint64_t seed = 0);

  /// Starts with these states (by symbol name); slots and gaps are zero. Fails with a message.
  mlir::LogicalResult initialize(const llvm::StringMap<HostTensor> &states);
  /// Runs one step on whole inputs (by name).
  mlir::FailureOr<Report> run(const llvm::StringMap<HostTensor> &inputs);
  /// The whole states. Fails with a message if replicas differ, or padding is not zero.
  mlir::FailureOr<llvm::StringMap<HostTensor>> states() const;

private:
  mlir::LogicalResult runPhase(PhaseOp phase, const llvm::StringMap<HostTensor> &inputs);
  mlir::LogicalResult runOp(mlir::Operation *op, int64_t slot, const llvm::StringMap<HostTensor> &inputs);
  void update(UpdateBucketOp op);
  /// The ops of UnitOps.td; false if `op` is none. In EvaluateUnits.cpp.
  bool runUnitOp(mlir::Operation *op, int64_t slot);
  void reduceBucket(ReduceBucketOp op, int64_t slot);
  /// All that the ranks that share a bucket with `rank` store of it.
  std::vector<double> wholeBucket(llvm::StringRef name, int64_t rank) const;
  std::vector<double> decayOf(mlir::FlatSymbolRefAttr bucket, double decay) const;

  mutable mlir::ModuleOp module; // a handle: its accessors are not const
  ProgramOp program;
  LockStep lockStep;
  /// Per bucket, per rank: what the rank stores.
  llvm::StringMap<std::vector<std::vector<double>>> buckets;
  int64_t step = 1;
  Report report;
};

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_EVALUATOR_H
