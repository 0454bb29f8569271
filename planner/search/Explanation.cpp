//===- Explanation.cpp - Why this plan, in the terms of those who plan by hand
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/Explanation.h"
#include "runtime/abi/console/AmountText.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace dtcc::plan {

Advisor::~Advisor() = default;

double linearRate(double rate, double factor) { return rate * factor; }
double squareRootRate(double rate, double factor) { return rate * std::sqrt(factor); }

static std::string number(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

static std::string devicesText(int64_t devices) {
  return std::to_string(devices) + (devices == 1 ? " device" : " devices");
}

std::string placesOf(const Parallelism &shape, int64_t domain) {
  std::string text;
  int64_t stride = 1;
  auto place = [&](const char *name, int64_t size) {
    if (size > 1) {
      cost::Spread spread = cost::spreadOf({size, stride}, domain);
      text += (text.empty() ? "" : "; ") + std::string(name) + "=" + std::to_string(size);
      if (spread.nodes == 1)
        text += " inside a node";
      else if (spread.ranksPerNode == 1)
        text += " over " + std::to_string(spread.nodes) + " nodes, a rank in each";
      else
        text += " over " + std::to_string(spread.nodes) + " nodes, " + std::to_string(spread.ranksPerNode) +
                " ranks in each";
    }
    stride *= size;
  };
  place("tp", shape.tp);
  place("cp", shape.cp);
  place("dp", shape.dp);
  place("pp", shape.pp);
  // Experts are shared among ranks that have copies of the rest.
  if (shape.ep > 1)
    text += "; ep=" + std::to_string(shape.ep) + " among those of dp and cp";
  return text.empty() ? "one device" : text;
}

namespace {
/// The kinds that people name. The first that is as good as any other is the simplest.
struct KindRow {
  const char *name;
  int zero;
  bool tensor, context, pipeline;
};
constexpr KindRow kKinds[] = {{"data parallel", 0, false, false, false},
                              {"data parallel, ZeRO 1", 1, false, false, false},
                              {"data parallel, ZeRO 2", 2, false, false, false},
                              {"data parallel, ZeRO 3", 3, false, false, false},
                              {"data and tensor parallel", -1, true, false, false},
                              {"data and context parallel", -1, false, true, false},
                              {"data parallel and pipeline", -1, false, false, true},
                              {"all together", -1, true, true, true}};

class Explainer {
public:
  Explainer(Explanation &result, Advisor &advisor, const RunGoal &goal, const ExplanationProgress &progress)
      : result(result), report(result.report), best(report.plans.front().asEstimated()), advisor(advisor), goal(goal),
        progress(progress) {}
  void run();

private:
  void answer(std::string question, std::string text) {
    result.answers.push_back({std::move(question), std::move(text)});
  }
  void begin(const char *comparison) const {
    if (progress)
      progress(comparison);
  }
  /// The best plan on fewer devices. One device is asked about twice, and searched once.
  std::optional<PlanReport> bestOn(int64_t devices);
  void compareKinds();
  void compareCounts();
  void compareAccumulation();
  void findTooLarge();
  void answerFit();
  void answerDistribution();
  void answerRecomputation();
  void answerBatch();
  void answerRate();
  void answerCost();

  Explanation &result;
  SearchReport &report;
  /// The first plan at its estimate: the advisor compiles nothing, so estimates are compared.
  const PlanReport best;
  Advisor &advisor;
  const RunGoal &goal;
  const ExplanationProgress &progress;
  /// Answers of bestOn.
  std::map<int64_t, std::optional<PlanReport>> byDevices;
};
} // namespace

std::optional<PlanReport> Explainer::bestOn(int64_t devices) {
  auto [at, isNew] = byDevices.try_emplace(devices);
  if (isNew) {
    Restriction restriction;
    restriction.devices = devices;
    // One device is told what it lacks.
    restriction.mustFit = devices > 1;
    at->second = advisor.best(restriction);
  }
  return at->second;
}

void Explainer::compareKinds() {
  for (const KindRow &kind : kKinds) {
    Restriction restriction;
    restriction.tensor = kind.tensor;
    restriction.context = kind.context;
    restriction.pipeline = kind.pipeline;
    if (kind.zero >= 0)
      restriction.zero = kind.zero;
    bool simple = !kind.tensor && !kind.context && !kind.pipeline;
    if (simple && report.batch % report.devices) {
      result.kinds.push_back({kind.name, std::nullopt,
                              "a batch of " + std::to_string(report.batch) + " does not divide among " +
                                  std::to_string(report.devices) + " ranks"});
      continue;
    }
    // Nothing is left out for all together: that has been searched.
    bool all = kind.tensor && kind.context && kind.pipeline;
    std::optional<PlanReport> plan = all ? std::optional(best) : advisor.best(restriction);
    // The best plan of this kind may use nothing that the kind adds. Then the table lists it already.
    auto listed = [&](const Explanation::Kind &before) { return before.plan && before.plan->shape == plan->shape; };
    if (!plan || std::any_of(result.kinds.begin(), result.kinds.end(), listed))
      continue;
    std::string reason = plan->shape == best.shape ? "the best of all" : whyBehind(*plan, best, report);
    result.kinds.push_back({kind.name, std::move(plan), std::move(reason)});
  }
}

void Explainer::compareCounts() {
  constexpr int kHalvings = 5;
  std::vector<int64_t> counts = {1};
  for (int64_t devices = report.devices, i = 0; devices > 1 && i < kHalvings; devices /= 2, ++i) {
    counts.push_back(devices);
    if (devices % 2)
      break;
  }
  std::sort(counts.begin(), counts.end());
  for (int64_t devices : counts) {
    std::optional<PlanReport> plan = devices == report.devices ? best : bestOn(devices);
    if (plan && plan->fits)
      result.counts.push_back({devices, std::move(*plan), 1, 1});
  }
  for (Explanation::Count &count : result.counts) {
    const Explanation::Count &first = result.counts.front();
    count.speedup = first.plan.seconds / count.plan.seconds;
    count.efficiency = count.speedup * double(first.devices) / double(count.devices);
  }
}

void Explainer::compareAccumulation() {
  int64_t each = report.batch / std::max<int64_t>(best.shape.dp, 1);
  for (int64_t microbatches = 1; microbatches <= each; microbatches *= 2) {
    if (each % microbatches)
      break;
    Restriction restriction;
    restriction.mesh = best.shape;
    restriction.microbatches = microbatches;
    if (std::optional<PlanReport> plan = advisor.best(restriction)) {
      plan->reason = plan->shape.microbatches == best.shape.microbatches ? "" : whyBehind(*plan, best, report);
      result.accumulation.push_back(std::move(*plan));
    }
  }
}

void Explainer::findTooLarge() {
  result.tooLarge = advisor.fasterOnes(best, 3);
  for (PlanReport &plan : result.tooLarge)
    plan.reason = formatSeconds(best.seconds - plan.seconds) + " faster, but " + whyBehind(plan, best, report);
}

void Explainer::answerFit() {
  std::string text;
  std::optional<PlanReport> alone = bestOn(1);
  if (alone && alone->fits)
    text = "yes, on one device: " + formatBytes(alone->memory.total()) + " of " + formatBytes(report.memoryBytes);
  else if (std::optional<int64_t> fewest = advisor.fewest())
    text = (alone ? "not on one device, which would need " + formatBytes(alone->memory.total()) + " of " +
                        formatBytes(report.memoryBytes) + "; "
                  : std::string()) +
           "the fewest that hold it are " + devicesText(*fewest);
  else if (alone)
    text = "not on one device, which would need " + formatBytes(alone->memory.total()) + " of " +
           formatBytes(report.memoryBytes);
  if (!text.empty())
    answer("does it fit?", text + "; this plan holds " + formatBytes(best.memory.total()) + " on a device");
}

void Explainer::answerDistribution() {
  if (result.counts.size() < 2)
    return;
  const Explanation::Count &first = result.counts.front(), &last = result.counts.back();
  std::string text = devicesText(first.devices) + (first.devices == 1 ? " takes " : " take ") +
                     formatSeconds(first.plan.seconds) + " a step, " + devicesText(last.devices) + " " +
                     formatSeconds(last.plan.seconds) + ": " + number("%.3g", last.speedup) + " x as fast with " +
                     number("%.3g", double(last.devices) / double(first.devices)) + " x the devices";
  // The largest number of devices whose doubling from the one before still gains.
  const Explanation::Count *enough = &first;
  for (size_t i = 1; i < result.counts.size(); ++i)
    if (result.counts[i].efficiency >= 0.5)
      enough = &result.counts[i];
  if (enough->devices == last.devices)
    text += ": worth it";
  else if (enough->devices == 1)
    text += ": one device would do";
  else
    text += "; beyond " + devicesText(enough->devices) + " more than half of them wait";
  answer("distribute at all?", text);
}

void Explainer::answerRecomputation() {
  Restriction restriction;
  restriction.mesh = best.shape;
  restriction.recompute = false;
  std::optional<PlanReport> none = advisor.best(restriction);
  restriction.recompute = true;
  std::optional<PlanReport> all = advisor.best(restriction);
  if (!none || !all)
    return;
  double saved = none->memory.total() - all->memory.total(), cost = all->seconds - none->seconds;
  std::string text = "full recomputation saves " + formatBytes(saved) + " and costs " + formatSeconds(cost) + " (" +
                     number("%.0f", 100 * cost / none->seconds) + " %)";
  if (!none->fits)
    text += "; without recomputation a device lacks " + formatBytes(report.excess(*none));
  size_t blocks = 0;
  for (const StageReport &stage : best.stages)
    blocks += stage.blocks;
  if (blocks > 0)
    text += "; this plan recomputes " + std::to_string(best.recomputed()) + " of " + std::to_string(blocks) + " blocks";
  answer("what does recomputation save?", text);
}

void Explainer::answerBatch() {
  std::string text;
  for (int64_t batch : {report.batch / 2, report.batch * 2}) {
    Restriction restriction;
    restriction.batch = batch;
    restriction.mustFit = true;
    std::optional<PlanReport> plan = batch > 0 ? advisor.best(restriction) : std::nullopt;
    if (!plan || !plan->fits)
      continue;
    double gain = double(batch) / plan->seconds / (double(report.batch) / best.seconds) - 1;
    text += (text.empty() ? "" : "; ") + std::string("a batch of ") + std::to_string(batch) + " trains " +
            number("%+.1f", 100 * gain) + " % samples a second";
  }
  std::string accumulated = best.shape.microbatches == 1
                                ? "the batch is taken at once"
                                : "the batch is accumulated over " + std::to_string(best.shape.microbatches) +
                                      " micro-batches, which gives the gradients of the whole";
  answer("accumulate, or a larger batch?", accumulated + (text.empty() ? "" : "; " + text));
}

void Explainer::answerRate() {
  if (goal.baseBatch > 0 && report.batch > 0) {
    double factor = double(report.batch) / goal.baseBatch, root = std::sqrt(factor);
    std::string text = "for " + number("%.3g", factor) + " x the batch of " + number("%.0f", goal.baseBatch) + ": ";
    if (goal.baseRate > 0)
      text += number("%.3g", linearRate(goal.baseRate, factor)) + " by the linear rule, " +
              number("%.3g", squareRootRate(goal.baseRate, factor)) + " by that of the square root";
    else
      text += number("%.3g", factor) + " x the rate by the linear rule, " + number("%.3g", root) +
              " x by that of the square root";
    answer("learning rate?",
           text +
               ". Linear with a warm-up of some epochs for SGD (Goyal et al. 2017); square root (Krizhevsky 2014) "
               "for Adam, with 1 - beta times " +
               number("%.3g", factor) + " and eps over " + number("%.3g", root) +
               " (Malladi et al. 2022). No forecast checks this advice");
    return;
  }
  answer("learning rate?", "twice the batch: 2 x by the linear rule with a warm-up (SGD, Goyal et al. 2017), 1.41 x by "
                           "the square root rule (Krizhevsky 2014; Adam, Malladi et al. 2022). --base-batch=N "
                           "--base-lr=X give the start. No forecast checks this advice");
}

void Explainer::answerCost() {
  double perStep = double(report.batch) * report.sequence;
  if (!(goal.tokens > 0) || !(perStep > 0))
    return;
  double seconds = goal.tokens / perStep * report.plans.front().seconds,
         hours = seconds / 3600 * double(report.devices);
  std::string text = formatLarge(goal.tokens) + " tokens take " + number("%.3g", seconds / 86400) + " days, " +
                     formatAmount(hours) + " device-hours";
  if (goal.pricePerHour > 0)
    text += ", $" + formatAmount(hours * goal.pricePerHour) + " at $" + number("%.2f", goal.pricePerHour) + " an hour";
  answer("what does it cost?", text);
}

void Explainer::run() {
  begin("compare kinds of parallelism");
  compareKinds();
  begin("compare device counts");
  compareCounts();
  begin("compare numbers of micro-batches");
  compareAccumulation();
  begin("search plans that are faster, but too large");
  findTooLarge();
  begin("search the fewest devices");
  answerFit();
  answer("where does it run?", placesOf(best.shape, report.domain));
  answerDistribution();
  begin("compare recomputation");
  answerRecomputation();
  begin("compare batches");
  answerBatch();
  answerRate();
  answerCost();
}

Explanation explain(SearchReport report, std::optional<PlanReport> given, Advisor &advisor, const RunGoal &goal,
                    const ExplanationProgress &progress) {
  Explanation result;
  result.report = std::move(report);
  if (given) {
    given->reason = given->shape == result.report.plans.front().shape
                        ? "it is the best of the search"
                        : whyBehind(*given, result.report.plans.front(), result.report);
    result.given = std::move(given);
  }
  Explainer(result, advisor, goal, progress).run();
  return result;
}

} // namespace dtcc::plan
