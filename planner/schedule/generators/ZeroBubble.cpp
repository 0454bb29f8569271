//===- ZeroBubble.cpp - Weight gradients where 1F1B waits
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ZB-H1 (Qi et al. 2023): as 1F1B, with weight gradients `rank` micro-batches behind the input gradients. Every rank
// then holds as many activations as rank 0. I and W are the two halves of a backward pass:
//
//     rank 0   F0 F1 F2       I0 W0 F3 I1 W1 I2 W2 I3 W3
//     rank 1      F0 F1    I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
//     rank 2         F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Pattern.h"
#include <algorithm>

namespace dtcc::plan {

std::vector<Action> rankOfZeroBubble(const Pattern &pattern, int64_t rank) {
  std::vector<Action> actions;
  int64_t total = pattern.total(), warmup = std::min(pattern.ranks - 1 - rank, total), weights = 0;
  for (int64_t k = 0; k < warmup; ++k)
    actions.push_back(pattern.at(Work::Forward, rank, k));
  for (int64_t k = 0; k < total; ++k) {
    if (warmup + k < total)
      actions.push_back(pattern.at(Work::Forward, rank, warmup + k));
    actions.push_back(pattern.at(Work::InputGradient, rank, k));
    if (k >= rank)
      actions.push_back(pattern.at(Work::WeightGradient, rank, weights++));
  }
  while (weights < total)
    actions.push_back(pattern.at(Work::WeightGradient, rank, weights++));
  return actions;
}

} // namespace dtcc::plan
