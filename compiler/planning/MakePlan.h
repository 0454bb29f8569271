//===- MakePlan.h - The plan that a program is compiled by
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_PLANNING_MAKEPLAN_H
#define DTCC_COMPILER_PLANNING_MAKEPLAN_H

#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "planner/plan/Plan.h"

namespace dtcc {

/// A plan, and its program where it was lowered to be confirmed.
struct MadePlan {
  plan::Plan plan;
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
};

/// The plan for a differentiated module: that of --plan, completed, or the best one that is found and confirmed.
/// Failure after one message.
mlir::FailureOr<MadePlan> makePlan(mlir::ModuleOp module, const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_MAKEPLAN_H
