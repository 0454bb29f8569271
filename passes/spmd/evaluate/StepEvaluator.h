//===- StepEvaluator.h - Runs a partitioned step, of one program or of all stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The stages of a pipeline run side by side, each in the order of its actions, and wait for
// each other's messages as on a cluster: a step that never ends is found out here.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_EVALUATE_STEPEVALUATOR_H
#define DTCC_PASSES_SPMD_EVALUATE_STEPEVALUATOR_H

#include "passes/spmd/evaluate/Evaluator.h"
#include "planner/schedule/Rendezvous.h"
#include <deque>

namespace dtcc::spmd {

class StepEvaluator {
public:
  using Report = ProgramEvaluator::Report;

  /// Evaluates all programs of the module: @step, or one per stage.
  explicit StepEvaluator(mlir::ModuleOp module, uint64_t seed = 0);

  /// Starts with these states (by symbol name); slots and gaps are zero. Fails with a message.
  mlir::LogicalResult initialize(const llvm::StringMap<HostTensor> &states);
  /// Runs one step on whole inputs (by name). Fails with a message, also if stages wait for each other for
  /// ever, exchange what does not agree, or report different numbers.
  mlir::FailureOr<Report> run(const llvm::StringMap<HostTensor> &inputs);
  /// The whole states. Fails with a message if replicas or the copies of stages differ, or padding is not zero.
  mlir::FailureOr<llvm::StringMap<HostTensor>> states() const;

private:
  void exchange(llvm::ArrayRef<int64_t> stages);
  void reduceAcross(llvm::ArrayRef<int64_t> stages);

  mutable mlir::ModuleOp module; // a handle: its accessors are not const
  std::deque<ProgramEvaluator> programs;
  llvm::SmallVector<ProgramOp> ops;
  /// Per stage, what it waits in.
  llvm::SmallVector<mlir::Operation *> current;
  /// From, to, channel: what is on its way.
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<Shards>> messages;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_EVALUATE_STEPEVALUATOR_H
