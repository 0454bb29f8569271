//===- ModeFront.cpp - The modes of a run of blocks that nothing beats
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/ModeFront.h"
#include <algorithm>
#include <limits>
#include <tuple>

namespace dtcc::plan {

/// Sums of the same terms in another order differ in their last bits; without a tolerance
/// every order would be a point of its own.
static constexpr double kSame = 1e-12;

uint32_t ModeFronts::runOf(const Counts &counts) {
  if (auto known = numbers.find(counts); known != numbers.end())
    return known->second;
  Run run{counts, std::nullopt, 0, std::vector<std::optional<Front>>(problem.classes.size())};
  for (size_t type = counts.size(); type-- > 0;)
    if (counts[type]) {
      Counts less = counts;
      --less[type];
      run.before = runOf(less);
      run.type = static_cast<uint32_t>(type);
      break;
    }
  runs.push_back(std::move(run));
  return numbers[counts] = static_cast<uint32_t>(runs.size() - 1);
}

const ModeFronts::Front &ModeFronts::frontOf(uint32_t number, uint32_t deviceClass) {
  if (runs[number].fronts[deviceClass])
    return *runs[number].fronts[deviceClass];
  Front front;
  if (!runs[number].before) {
    front.push_back({0, 0, 0, 0});
  } else {
    const Front &before = frontOf(*runs[number].before, deviceClass);
    const std::vector<BlockMode> &modes = problem.types[runs[number].type].modes[deviceClass];
    Front all;
    for (uint32_t point = 0; point < before.size(); ++point)
      for (uint32_t mode = 0; mode < modes.size(); ++mode)
        all.push_back({before[point].heldBytes + modes[mode].heldBytes, before[point].seconds + modes[mode].seconds,
                       point, mode});
    std::sort(all.begin(), all.end(), [](const Point &a, const Point &b) {
      return std::tie(a.heldBytes, a.seconds, a.before, a.mode) < std::tie(b.heldBytes, b.seconds, b.before, b.mode);
    });
    for (const Point &point : all)
      if (front.empty() || point.seconds < front.back().seconds * (1 - kSame))
        front.push_back(point);
  }
  return *(runs[number].fronts[deviceClass] = std::move(front));
}

const ModeFronts::Point *ModeFronts::pointWithin(uint32_t run, uint32_t deviceClass, double bytes) {
  const Front &front = frontOf(run, deviceClass);
  auto past = std::partition_point(front.begin(), front.end(),
                                   [&](const Point &point) { return point.heldBytes <= bytes * (1 + kSame); });
  return past == front.begin() ? nullptr : &*(past - 1);
}

double ModeFronts::secondsWithin(uint32_t run, uint32_t deviceClass, double bytes) {
  const Point *point = pointWithin(run, deviceClass, bytes);
  return point ? point->seconds : std::numeric_limits<double>::infinity();
}

std::vector<std::vector<uint32_t>> ModeFronts::modesWithin(uint32_t run, uint32_t deviceClass, double bytes) {
  std::vector<std::vector<uint32_t>> modes(problem.types.size());
  const Point *point = pointWithin(run, deviceClass, bytes);
  while (runs[run].before) {
    modes[runs[run].type].push_back(point->mode);
    run = *runs[run].before;
    point = &frontOf(run, deviceClass)[point->before];
  }
  // Blocks of one type are alike: those that keep most come last, where least waits for them.
  for (std::vector<uint32_t> &each : modes)
    std::sort(each.begin(), each.end());
  return modes;
}

} // namespace dtcc::plan
