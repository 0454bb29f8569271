//===- SearchHints.cpp - What a user could change beside the plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/SearchHints.h"
#include "runtime/abi/console/AmountText.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtcc::plan {

/// Fewer devices are named if a step takes at most this share of its time, another batch if a sample does.
static constexpr double kFewer = 0.98, kOtherBatch = 0.95;
/// An axis tp that splits less than this share of the products' work is named.
static constexpr double kLittle = 0.5;

/// "0.22 x".
static std::string times(double ratio) {
  std::string text = std::to_string(std::round(100 * ratio) / 100);
  return text.substr(0, text.find('.') + 3) + " x";
}

/// Seconds of a step's work on one device of a stage of mean length, recomputation apart.
static double workOf(const PlanReport &plan) {
  double sum = 0, most = 0;
  for (const StageReport &stage : plan.stages) {
    sum += stage.seconds;
    most = std::max(most, stage.seconds);
  }
  double evenness = most > 0 ? sum / double(plan.stages.size()) / most : 1;
  return (plan.parts.compute - plan.parts.recompute) * evenness;
}

std::vector<int64_t> fewerDevices(const SearchReport &report) {
  const PlanReport best = report.plans.front().asEstimated();
  std::vector<int64_t> counts;
  if (report.devices > report.domain)
    counts.push_back(report.domain);
  for (int64_t count = report.devices / 2; count >= 1; count /= 2)
    counts.push_back(count);
  std::sort(counts.begin(), counts.end(), std::greater<>());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  // One device needs the fewest micro-batches, each of which starts all kernels anew: its work may be less.
  std::erase_if(counts, [&](int64_t count) {
    return count > 1 && workOf(best) * double(report.devices) / double(count) >= kFewer * best.seconds;
  });
  return counts;
}

std::optional<int64_t> neighbouringBatch(int64_t batch, int64_t devices) {
  int64_t best = batch;
  for (int64_t other = batch + 1; other <= batch + std::max<int64_t>(1, batch / 100); ++other)
    if (std::gcd(other, devices) > std::gcd(best, devices))
      best = other;
  return best == batch ? std::nullopt : std::optional(best);
}

static std::optional<std::string> hintOfDevices(const SearchReport &report, Advisor &advisor) {
  // The advisor's plans were not compiled, so estimates are compared.
  const PlanReport best = report.plans.front().asEstimated();
  std::optional<PlanReport> fastest;
  int64_t devices = 0;
  for (int64_t count : fewerDevices(report)) {
    Restriction fewer;
    fewer.devices = count;
    fewer.mustFit = true;
    std::optional<PlanReport> plan = advisor.best(fewer);
    if (!plan || !plan->fits)
      continue;
    // Times fall with the number of devices, then they rise.
    if (fastest && plan->seconds >= fastest->seconds)
      break;
    if (plan->seconds < kFewer * best.seconds) {
      fastest = std::move(plan);
      devices = count;
    }
  }
  if (!fastest)
    return std::nullopt;
  return "fewer devices are faster: a step on " + std::to_string(devices) + " of the " +
         std::to_string(report.devices) + " takes " + formatSeconds(fastest->seconds) + ", " +
         times(fastest->seconds / best.seconds) + " the time, as " + fastest->shape.str();
}

static std::optional<std::string> hintOfBatch(const SearchReport &report, Advisor &advisor) {
  std::optional<int64_t> batch = neighbouringBatch(report.batch, report.devices);
  if (!batch)
    return std::nullopt;
  Restriction larger;
  larger.batch = *batch;
  larger.mustFit = true;
  std::optional<PlanReport> plan = advisor.best(larger);
  double ratio = plan ? plan->seconds / report.plans.front().estimatedSeconds() : 1;
  if (!plan || !plan->fits || ratio * double(report.batch) / double(*batch) > kOtherBatch)
    return std::nullopt;
  return "a batch of " + std::to_string(*batch) + " divides better than " + std::to_string(report.batch) +
         ": a step takes " + formatSeconds(plan->seconds) + ", " + times(ratio) + " the time, as " + plan->shape.str();
}

static std::optional<std::string> hintOfTensor(const PlanReport &plan) {
  if (plan.shape.tp == 1 || plan.splitByTensor >= kLittle)
    return std::nullopt;
  return "tp=" + std::to_string(plan.shape.tp) + " splits " +
         std::to_string(int64_t(std::round(100 * plan.splitByTensor))) +
         " % of the work of products: all of its ranks do the rest alike";
}

std::vector<std::string> findHints(const SearchReport &report, Advisor &advisor, bool meshGiven) {
  std::vector<std::string> hints;
  auto add = [&](std::optional<std::string> hint) {
    if (hint)
      hints.push_back(std::move(*hint));
  };
  add(hintOfTensor(report.plans.front()));
  if (meshGiven)
    return hints;
  add(hintOfDevices(report, advisor));
  add(hintOfBatch(report, advisor));
  return hints;
}

} // namespace dtcc::plan
