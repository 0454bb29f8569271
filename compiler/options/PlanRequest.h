//===- PlanRequest.h - The parts of a plan that the options hold
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second form of the options of a plan: Options has them as they were written, a PlanRequest as values. Searches
// read it, and are asked again with parts of it changed.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_OPTIONS_PLANREQUEST_H
#define DTCC_COMPILER_OPTIONS_PLANREQUEST_H

#include "compiler/options/Options.h"
#include "planner/parallelism/ParallelismRequest.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc {

/// Most ranks of --cluster=cpu:RANKS, and most ranks and groups of an axis of --mesh.
inline constexpr int64_t kMostRanks = 4096;

struct PlanRequest : plan::ParallelismRequest {
  /// Layouts that are held: --pin, or those of the model's annotations.
  std::vector<std::string> pins;
  /// Whether mesh and pins come from the model's annotations.
  bool annotated = false;
  /// The stage that the annotations give each node of the model.
  llvm::StringMap<int64_t> nodeStages;
};

/// Failure after one message.
mlir::FailureOr<PlanRequest> resolvePlanRequest(const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_OPTIONS_PLANREQUEST_H
