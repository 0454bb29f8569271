//===- ExpertRoom.h - Rows that a rank has room for under --moe-capacity
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is a token at one of the experts that it picked. Passes size buffers by this formula, and searches price them
// by it before there are any.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLAN_EXPERTROOM_H
#define DTCC_PLANNER_PLAN_EXPERTROOM_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dtcc::plan {

/// Rows of the buffers of one of `members` ranks that together hold tokens with `rows` picks, `picks` of each token:
/// `capacity` times the mean, and no more than can come to a rank of `experts` experts, because the picks of a token
/// differ.
inline int64_t roomForRows(double capacity, int64_t rows, int64_t picks, int64_t members, int64_t experts) {
  int64_t most = rows / std::max<int64_t>(picks, 1) * std::min(picks, experts);
  // The products of two-digit capacities are rounded: 1.1 * 50 must be 55.
  double wanted = std::ceil(capacity * static_cast<double>(rows) / static_cast<double>(members) - 1e-9);
  return std::max<int64_t>(wanted < static_cast<double>(most) ? static_cast<int64_t>(wanted) : most, 1);
}

} // namespace dtcc::plan

#endif // DTCC_PLANNER_PLAN_EXPERTROOM_H
