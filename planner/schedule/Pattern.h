//===- Pattern.h - The order of forward and backward passes on a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generators of schedules stand on this: which micro-batch of which stage comes k-th on a rank, and one forward, one
// backward behind some forwards.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SCHEDULE_PATTERN_H
#define DTCC_PLANNER_SCHEDULE_PATTERN_H

#include "planner/schedule/Schedule.h"

namespace dtcc::plan {

struct Pattern {
  int64_t ranks, microbatches, stagesPerRank;

  int64_t total() const { return microbatches * stagesPerRank; }
  /// The k-th forward (backward) of a rank: groups of `ranks` micro-batches pass its
  /// stages one after the other (Narayanan et al. 2021, figure 4).
  Action at(Work work, int64_t rank, int64_t k) const;
  /// One forward, one backward, after `warmup` forwards.
  std::vector<Action> oneForwardOneBackward(int64_t rank, int64_t warmup) const;
};

/// The actions of a rank, of each row of planner/parallelism/Schedules.def (generators/NAME.cpp).
#define DTCC_SCHEDULE(NAME, ...) std::vector<Action> rankOf##NAME(const Pattern &pattern, int64_t rank);
#include "planner/parallelism/Schedules.def"

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SCHEDULE_PATTERN_H
