//===- StepForecast.h - Time of a compiled program's step --------*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_PROGRAM_STEPFORECAST_H
#define DTCC_TOOLS_PROGRAM_STEPFORECAST_H

#include "runtime/abi/StepClock.h"
#include "tools/program/ProgramFile.h"

namespace dtcc {

/// Runs the step of one rank of each stage by the seconds of its commands, as `--info` of the program does. The clock
/// refers to tables of `program`, which outlives it. The error of a step that never ends says so.
llvm::Expected<StepClock> forecastStep(const ProgramFile &program);

} // namespace dtcc

#endif // DTCC_TOOLS_PROGRAM_STEPFORECAST_H
