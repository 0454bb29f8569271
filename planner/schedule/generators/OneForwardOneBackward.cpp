//===- OneForwardOneBackward.cpp - One forward pass, one backward pass
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PipeDream-Flush (Narayanan et al. 2021). A rank runs as many forward passes ahead as there are ranks behind it:
//
//     rank 0   F0 F1 F2          B0    F3 B1    B2    B3
//     rank 1      F0 F1       B0    F2 B1    F3 B2    B3
//     rank 2         F0 B0    F1 B1    F2 B2    F3 B3
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Pattern.h"
#include <algorithm>

namespace dtcc::plan {

std::vector<Action> rankOfOneForwardOneBackward(const Pattern &pattern, int64_t rank) {
  return pattern.oneForwardOneBackward(rank, pattern.ranks - 1 - rank);
}

} // namespace dtcc::plan
