//===- LowerPlan.h - A plan carried out as far as memory goes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan promises is what its program uses: the plan is applied to a copy of the step, and the copy lowered until
// its arenas are planned, by the passes that compile it. The program is one text for all ranks (or for those of a
// stage): this takes as long for thousands of them as for one.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_PLANNING_LOWERPLAN_H
#define DTCC_COMPILER_PLANNING_LOWERPLAN_H

#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "planner/plan/Plan.h"
#include "planner/search/SearchReport.h"
#include <limits>

namespace dtcc {

struct LoweredPlan {
  /// Programs with planned arenas, one a stage; null if the compiler refuses the plan.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// By stage, what a rank of it holds: parameters, gradients and optimizer's state as they are stored, all else as
  /// activations. Communicators are the device's matter and not counted.
  std::vector<plan::MemoryParts> stages;
  /// Bytes of communicators that parameters have for themselves (exec-separate-parameters), of the stage with most.
  double separateBytes = 0;
  /// Why the plan is refused: the first error, if there is one.
  std::optional<mlir::Diagnostic> refusal;
  /// What else was said on the way.
  std::vector<mlir::Diagnostic> notes;

  /// Of the rank that needs most.
  plan::MemoryParts most() const;
  /// Bytes with its host, of the rank that has most there.
  double mostWithHost() const;
};

/// Lowers a copy of a differentiated module; the module itself stays as it is. A program that needs more than `limit`
/// bytes a rank is not checked any further: it is good for its memory alone.
LoweredPlan lowerPlan(mlir::ModuleOp module, const Options &options, const plan::Plan &plan,
                      double limit = std::numeric_limits<double>::infinity());

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_LOWERPLAN_H
