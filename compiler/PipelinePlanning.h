//===- PipelinePlanning.h - The pipeline of a plan, as the command line gives it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_COMPILER_PIPELINEPLANNING_H
#define DTCC_COMPILER_PIPELINEPLANNING_H

#include "compiler/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/dist/SearchMesh.h"

namespace dtcc {

/// What --mesh=pp= and --schedule say.
struct PipelineRequest {
  int64_t ranks = 1;
  /// 1F1B unless another is given; `actions` if a file says them.
  std::string schedule = "1f1b";
  plan::Schedule actions;
  int64_t stages() const;
};

/// Reads --schedule, a name or a file, for `ranks` ranks. One message if it is wrong.
mlir::FailureOr<PipelineRequest> parsePipeline(const Options &options, int64_t ranks);

/// Micro-batches where none are asked for: those of the file, or the most up to four a
/// rank, in which waiting is a fifth of the time, that divide the batch over `dp` ranks.
int64_t defaultMicrobatches(const PipelineRequest &request, mlir::ModuleOp module, int64_t dp);

/// Cuts the step and gives every plan the axis "pp" and the pipeline; the forecasts become
/// those of a stage with the schedule's waiting. Plans that cannot be pipelined are
/// dropped, with a message if none is left.
mlir::LogicalResult addPipeline(mlir::ModuleOp module, const PipelineRequest &request, const cost::Machine &machine,
                                std::vector<dist::PricedPlan> &plans);

} // namespace dtcc

#endif // DTCC_COMPILER_PIPELINEPLANNING_H
