//===- ForecastProgram.h - What a step of a lowered program takes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan that was lowered to commands (LowerPlan.h) is forecast by them, before there is a file: each command is
// priced, and a clock runs the step of one rank of each stage. The figure is that of `dtcc-plan cost PROGRAM` for the
// finished program.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_PLANNING_FORECASTPROGRAM_H
#define DTCC_COMPILER_PLANNING_FORECASTPROGRAM_H

#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "planner/cost/Step.h"
#include "runtime/abi/StepClock.h"

namespace dtcc {

/// The seconds of a step by the parts of its busiest stage. `isWithin` says whether a communicator joins ranks of tp or
/// cp; what the other collectives leave exposed belongs to parameters and gradients. Recomputation is not told apart
/// from other kernels.
cost::StepSeconds stepSecondsOf(const StepClock::Parts &busiest, llvm::function_ref<bool(uint32_t)> isWithin);

/// Forecasts a step of the exec.programs of a module whose arenas are planned. The module stays as it is. Failure after
/// a message: the kernels cannot be generated, or the stages wait for each other for ever.
mlir::FailureOr<cost::StepSeconds> forecastProgram(mlir::ModuleOp module, const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_FORECASTPROGRAM_H
