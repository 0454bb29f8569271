//===- Runs.h - What a step of an exec.program runs, in order
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_EXEC_COMMANDS_RUNS_H
#define DTCC_PASSES_EXEC_COMMANDS_RUNS_H

#include "dialects/exec/Exec.h"
#include <vector>

namespace dtcc::exec {

/// One action: a phase (by its number in the program) for a slot.
struct Run {
  size_t phase = 0;
  int64_t slot = 0;
};

/// The program's actions; without them, its phases one after the other, each as often as
/// it repeats.
std::vector<Run> runsOf(ProgramOp program);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_RUNS_H
