//===- GPipe.cpp - All forward passes, then all backward passes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Huang et al. 2019. Three ranks, four micro-batches, a backward pass as long as two forward passes:
//
//     rank 0   F0 F1 F2 F3             B0    B1    B2    B3
//     rank 1      F0 F1 F2 F3       B0    B1    B2    B3
//     rank 2         F0 F1 F2 F3 B0    B1    B2    B3
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Pattern.h"
#include <algorithm>

namespace dtcc::plan {

std::vector<Action> rankOfGPipe(const Pattern &pattern, int64_t rank) {
  return pattern.oneForwardOneBackward(rank, pattern.microbatches);
}

} // namespace dtcc::plan
