//===- GradNorms.cpp - The norm of each parameter's gradient -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/health/GradNorms.h"

#include "runtime/collective/Communicator.h"

#include <cmath>

namespace dtcc::rt {

void GradNorms::begin(Rank &rank, int64_t step) {
  rank.gradSquares = nullptr;
  if (every == 0 || step % every != 0)
    return;
  squares.ofState.assign(rank.image.states().size(), 0);
  squares.isLeftOut = false;
  rank.gradSquares = &squares;
}

GradNorms::Named GradNorms::end(Rank &rank) {
  if (!rank.gradSquares)
    return {};
  rank.gradSquares = nullptr;
  std::vector<double> &sums = squares.ofState;
  if (rank.world)
    rank.world->allReduce(sums.data(), sums.data(), static_cast<int64_t>(sums.size()), DTCC_F64, DTCC_SUM);
  if (squares.isLeftOut)
    return {};
  Named norms;
  for (const dtcc_segment &segment : rank.image.segments()) {
    const dtcc_state &state = rank.image.states()[segment.state];
    // Stages of a pipeline may have copies, whose gradients are the same.
    if (state.trainable && !rank.image.isCopy(state))
      norms.push_back(
          {std::string(rank.image.string(state.name)), std::sqrt(sums[segment.state]) * std::abs(squares.unit)});
  }
  return norms;
}

} // namespace dtcc::rt
