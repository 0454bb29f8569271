//===- PlanFile.h - The plan of --plan, completed
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan file may leave fields out (docs/plan-format.md): they are searched for with the
// others held. --zero, --microbatches and --recompute win over the file; --mesh must agree
// with it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_PLANNING_PLANFILE_H
#define DTCC_COMPILER_PLANNING_PLANFILE_H

#include "compiler/options/PlanRequest.h"
#include "mlir/IR/BuiltinOps.h"
#include "planner/plan/Plan.h"

namespace dtcc {

/// The plan of the file `options.plan` for a differentiated module. Failure after one message.
mlir::FailureOr<plan::Plan> readPlanFile(mlir::ModuleOp module, const Options &options, const PlanRequest &request);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_PLANFILE_H
