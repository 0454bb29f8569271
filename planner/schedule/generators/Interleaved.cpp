//===- Interleaved.cpp - The schedule "interleaved": several stages a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interleaved 1F1B (Narayanan et al. 2021, figure 4): rank r has the stages r, r + p, r + 2 p, ..; micro-batches pass
// them in groups of p. Two ranks with two stages each, four micro-batches, the number of the stage in front:
//
//     rank 0   0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3
//     rank 1   1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Pattern.h"
#include <algorithm>

namespace dtcc::plan {

std::vector<Action> rankOfInterleaved(const Pattern &pattern, int64_t rank) {
  int64_t behind = pattern.ranks - 1 - rank;
  // One stage a rank is 1F1B.
  return pattern.oneForwardOneBackward(
      rank, pattern.stagesPerRank == 1 ? behind : behind * 2 + (pattern.stagesPerRank - 1) * pattern.ranks);
}

} // namespace dtcc::plan
