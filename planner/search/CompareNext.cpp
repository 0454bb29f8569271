//===- CompareNext.cpp - Which plan's program is compared next
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/CompareNext.h"
#include <algorithm>
#include <cmath>

namespace dtcc::plan {

/// Number of plans that are compared by their estimates alone, whatever their meshes.
static constexpr size_t kByEstimate = 2;
/// Share by which the estimate of a plan with another mesh may be above that of the plan whose turn it takes.
static constexpr double kForAnotherMesh = 0.01;
/// Share by which the estimates of two plans with one program differ at most.
static constexpr double kSameProgram = 0.005;

/// Whether two plans differ in stationary weights alone, and in nothing that these would decide.
static bool areTwins(const ComparedPlan &a, const ComparedPlan &b) {
  Parallelism other = b.shape;
  other.stationaryWeights = a.shape.stationaryWeights;
  return a.shape == other && std::abs(a.seconds - b.seconds) <= kSameProgram * a.seconds;
}

static bool haveOneMesh(const ComparedPlan &a, const ComparedPlan &b) {
  return a.shape.meshText() == b.shape.meshText();
}

size_t compareNext(std::span<const ComparedPlan> compared, std::span<const ComparedPlan> waiting) {
  /// The first that is like none of those that are compared; the end if there is none.
  auto firstUnlike = [&](auto areAlike) {
    return std::find_if(waiting.begin(), waiting.end(), [&](const ComparedPlan &plan) {
      return std::none_of(compared.begin(), compared.end(),
                          [&](const ComparedPlan &other) { return areAlike(other, plan); });
    });
  };
  auto next = firstUnlike(areTwins);
  if (next == waiting.end())
    next = waiting.begin();
  if (compared.size() >= kByEstimate)
    if (auto other = firstUnlike(haveOneMesh);
        other != waiting.end() && other->seconds <= (1 + kForAnotherMesh) * next->seconds)
      next = other;
  return size_t(next - waiting.begin());
}

} // namespace dtcc::plan
