//===- Meetings.h - Which ops of a stage's program concern other stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DTCC_PASSES_SPMD_PROGRAM_MEETINGS_H
#define DTCC_PASSES_SPMD_PROGRAM_MEETINGS_H

#include "dialects/spmd/Spmd.h"
#include "planner/schedule/MeetingProgram.h"

namespace dtcc::spmd {

/// What `op` of a stage over `axis`, one of `stages`, does with others: a message, or a reduction over the stages;
/// nothing if it does nothing with them.
std::optional<plan::Meeting> meetingOf(mlir::Operation *op, llvm::StringRef axis, int64_t stages);

/// All of a program's, in the order of its step; with `ops`, the op of each by phase.
plan::MeetingProgram meetingsOf(ProgramOp program, int64_t stages,
                                std::vector<std::vector<mlir::Operation *>> *ops = nullptr);

/// Has `settle` decide something of the meetings of all stages of a pipeline, and tells each op its own by `tell`. A
/// step that is no pipeline has none.
void settleMeetings(mlir::ModuleOp module, llvm::function_ref<void(std::vector<plan::MeetingProgram> &)> settle,
                    llvm::function_ref<void(mlir::Operation *, const plan::Meeting &)> tell);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PROGRAM_MEETINGS_H
