//===- Planning.h - From the command line to a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_COMPILER_PLANNING_H
#define DTCC_COMPILER_PLANNING_H

#include "compiler/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/plan/Plan.h"

namespace dtcc {

/// The plan for a differentiated module: that of --plan, or the best one for --cluster
/// with what --mesh, --zero and --microbatches give. With --verbose the runners-up are
/// listed on stderr. Failure after one message.
mlir::FailureOr<plan::Plan> makePlan(mlir::ModuleOp module, const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_H
