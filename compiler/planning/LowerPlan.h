//===- LowerPlan.h - A plan carried out as far as memory goes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures the memory of a plan as its program will use it: the plan is applied to a copy of the step, and the passes
// of the compiler lower the copy until its arenas are planned. All ranks of a stage share one program, so this takes as
// long for thousands of ranks as for one.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_PLANNING_LOWERPLAN_H
#define DTCC_COMPILER_PLANNING_LOWERPLAN_H

#include "compiler/options/Options.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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
  /// Memory of one rank of each stage: parameters, gradients and optimizer state as they are stored, all else as
  /// activations. Communicators, which the device allocates, are not counted.
  std::vector<plan::MemoryParts> stages;
  /// Bytes of the communicators that serve parameters alone (exec-separate-parameters), for the stage with most.
  double separateBytes = 0;
  /// Forecast of a step by the commands of the programs; absent where the program is larger than the limit.
  std::optional<cost::StepSeconds> step;
  /// Why the plan is refused: the first error, if there is one.
  std::optional<mlir::Diagnostic> refusal;
  /// Remarks and warnings of the passes.
  std::vector<mlir::Diagnostic> notes;

  /// Memory of the rank that needs most.
  plan::MemoryParts most() const;
  /// Bytes of host memory, for the rank that needs most of it.
  double mostWithHost() const;
};

/// Lowers a copy of a differentiated module; the module itself stays as it is. If the program needs more than `limit`
/// bytes a rank, the checks and the forecast of the final program are left out, and only its memory can be used.
/// Several threads may call this for one module at once, behind `loadDialects`.
LoweredPlan lowerPlan(mlir::ModuleOp module, const Options &options, const plan::Plan &plan,
                      double limit = std::numeric_limits<double>::infinity());

/// Loads the dialects that lowering needs. No context can load one while several threads use it.
void loadDialects(mlir::MLIRContext &context, const Options &options);

/// Adds the evaluation of the model to a step that is about to be given layouts, unless --no-eval leaves it out.
void addEvaluation(mlir::func::FuncOp step, const Options &options, const plan::Plan &plan);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_LOWERPLAN_H
