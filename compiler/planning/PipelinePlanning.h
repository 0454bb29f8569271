//===- PipelinePlanning.h - The pipeline of a plan, as the command line gives it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_COMPILER_PLANNING_PIPELINEPLANNING_H
#define DTCC_COMPILER_PLANNING_PIPELINEPLANNING_H

#include "mlir/Support/LLVM.h"
#include "planner/schedule/Schedule.h"
#include <optional>

namespace dtcc {

/// The schedule of --schedule; both fields are empty if it is searched.
struct PipelineRequest {
  std::string schedule;
  /// The actions that a file of --schedule lists.
  plan::Schedule actions;
};

/// Reads the text of --schedule, a name or a file, for `ranks` stages if --mesh gives their number. `noStages` says
/// that the other options leave no ranks for stages. Prints one message if the option is wrong.
mlir::FailureOr<PipelineRequest> readSchedule(const std::string &text, std::optional<int64_t> ranks, bool noStages);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_PIPELINEPLANNING_H
