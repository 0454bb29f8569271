//===- Pattern.cpp - The order of forward and backward passes on a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Pattern.h"
#include <algorithm>

namespace dtcc::plan {

Action Pattern::at(Work work, int64_t rank, int64_t k) const {
  if (stagesPerRank == 1)
    return {work, rank, k};
  int64_t group = ranks * stagesPerRank, virtualStage = k % group / ranks;
  if (work != Work::Forward)
    virtualStage = stagesPerRank - 1 - virtualStage;
  return {work, virtualStage * ranks + rank, k / group * ranks + k % ranks};
}

std::vector<Action> Pattern::oneForwardOneBackward(int64_t rank, int64_t warmup) const {
  std::vector<Action> actions;
  warmup = std::min(warmup, total());
  for (int64_t k = 0; k < warmup; ++k)
    actions.push_back(at(Work::Forward, rank, k));
  for (int64_t k = 0; k < total(); ++k) {
    if (warmup + k < total())
      actions.push_back(at(Work::Forward, rank, warmup + k));
    actions.push_back(at(Work::Backward, rank, k));
  }
  return actions;
}

} // namespace dtcc::plan
