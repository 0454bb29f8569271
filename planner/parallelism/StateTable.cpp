//===- StateTable.cpp - What of a state the ranks of a group share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/parallelism/StateTable.h"
#include <algorithm>
#include <iterator>

namespace dtcc::plan {

//                              stage  name             compute gradient master slots
static constexpr StateRow kStateRows[] = {{0, "NO_SHARD", false, false, false, false},
                                          {1, "ZeRO-1", false, false, true, true},
                                          {2, "SHARD_GRAD_OP", false, true, true, true},
                                          {3, "FULL_SHARD", true, true, true, true}};
static_assert(std::size(kStateRows) == kLastStage + 1);

const StateRow &stateRow(int64_t stage) { return kStateRows[std::clamp<int64_t>(stage, 0, kLastStage)]; }

StateBytes stateBytes(int64_t stage, double bytes, double slots, int64_t ranks, double copy, GradientType gradients) {
  const StateRow &row = stateRow(stage);
  bool narrow = copy > 0;
  auto share = [&](bool shared) { return shared ? bytes / double(ranks) : bytes; };
  return {share(row.sharesMasters(narrow)) + (row.keepsCopy(narrow) ? copy : 0),
          share(row.gradient) * bytesOf(gradients) / bytesOf(GradientType::F32), slots * share(row.slots)};
}

} // namespace dtcc::plan
