//===- Parallel.cpp - Degrees of a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cost/Parallel.h"
#include <algorithm>

namespace dtcc::cost {

namespace {
/// Bubble of a stage, one row per PipelineKind: weights of forward, input gradient and weight gradient. `interleaves`
/// divides the bubble by the number of virtual stages.
struct ScheduleRow {
  double forward, input, weight;
  bool interleaves;
};
constexpr ScheduleRow kSchedules[] = {{0, 0, 0, false},  {1, 1, 1, false},  {1, 1, 1, true},
                                      {1, 1, -1, false}, {1, 1, -2, false}, {1, 1, 1, false}};
} // namespace

Parallel Parallel::ofExperts() const {
  Parallel plan = *this;
  plan.tp = splitsExperts() ? tp * ep : ep;
  plan.cp = plan.ep = 1;
  plan.dp = std::max<int64_t>(1, ranks() / pp / plan.tp);
  if (shareGroup > 0)
    plan.shareGroup = std::max<int64_t>(1, shareGroup / ep);
  return plan;
}

double bubbleSeconds(PipelineKind schedule, int64_t stages, int64_t virtualStages, double forward, double input,
                     double weight) {
  const ScheduleRow &row = kSchedules[static_cast<int>(schedule)];
  double stage = row.forward * forward + row.input * input + row.weight * weight;
  if (row.interleaves)
    stage /= double(std::max<int64_t>(virtualStages, 1));
  return double(stages - 1) * std::max(stage, 0.0);
}

double microbatchesInFlight(PipelineKind schedule, int64_t stages, int64_t virtualStages, int64_t microbatches) {
  double p = double(stages), m = double(microbatches);
  switch (schedule) {
  case PipelineKind::None:
    return 1;
  case PipelineKind::OneForwardOneBackward:
  case PipelineKind::ZeroBubble1:
    return std::min(p, m);
  case PipelineKind::Interleaved:
    return std::min(p * (1 + (p - 1) / (p * double(std::max<int64_t>(virtualStages, 1)))), m);
  case PipelineKind::ZeroBubble2:
    return std::min(2 * p - 1, m);
  case PipelineKind::GPipe:
    return m;
  }
  return 1;
}

} // namespace dtcc::cost
