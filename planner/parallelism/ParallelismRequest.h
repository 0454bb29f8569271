//===- ParallelismRequest.h - The parts of a Parallelism that a user holds
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This type is apart from Parallelism because every part may be absent: a search then decides it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PARALLELISM_PARALLELISMREQUEST_H
#define DTCC_PLANNER_PARALLELISM_PARALLELISMREQUEST_H

#include "planner/parallelism/Parallelism.h"
#include <vector>

namespace dtcc::plan {

struct ParallelismRequest {
  MeshSizes mesh;
  std::optional<int> zero;
  std::optional<int64_t> microbatches;
  /// A name of Schedules.def, or the file that lists the actions; empty: searched.
  std::string schedule;
  std::optional<bool> sequenceParallel, stationaryWeights;
  /// Cheaper: searched.
  SequenceExchange exchange = SequenceExchange::Cheaper;
  std::optional<Recompute> recompute;
  std::optional<Offload> offload;
  /// f32 if absent. No search chooses bf16, which rounds: only the user may allow that.
  std::optional<GradientType> gradients;

  /// Holds every part of `parallelism` but what its blocks choose. An offload that is held already stays.
  void hold(const Parallelism &parallelism);

  /// A part that the request fixes, as its option is written: "--zero=1".
  struct FixedPart {
    std::string option;
    /// Whether the part decides which shapes there are.
    bool decidesShapes = true;
    /// Leaves the part out; null for the mesh, without which the other parts mean nothing.
    void (*leaveOut)(ParallelismRequest &) = nullptr;
  };
  std::vector<FixedPart> fixedParts() const;
};

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PARALLELISM_PARALLELISMREQUEST_H
