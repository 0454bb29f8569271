//===- StepCheck.h - Comparison of a partitioned step with the whole step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `dtcc --verify` uses this class. The reference interpreters run the step on whole tensors
// and the program of all ranks in lock-step, both in f64 on one set of random data.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_DRIVER_STEPCHECK_H
#define DTCC_COMPILER_DRIVER_STEPCHECK_H

#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "planner/plan/Plan.h"

namespace dtcc {

class StepCheck {
public:
  /// Keeps a copy of a module with @step on whole tensors, before a plan changes it.
  explicit StepCheck(mlir::ModuleOp whole);

  /// Adds the evaluation that a program of this plan has: its loss is compared behind every step.
  void addEvaluation(const Options &options, const plan::Plan &plan);

  /// Runs `steps` training steps both ways: the loss, the number of counted labels, the
  /// norm of the gradients and every state must agree after each. Prints the differences on `stream`, and fails with a
  /// message at the first step or state that differs by more than rounding.
  /// Refuses models that the interpreters would take too long or too much memory for.
  mlir::LogicalResult run(mlir::ModuleOp distributed, int64_t steps, llvm::raw_ostream &stream);

private:
  mlir::OwningOpRef<mlir::ModuleOp> whole;
};

} // namespace dtcc

#endif // DTCC_COMPILER_DRIVER_STEPCHECK_H
