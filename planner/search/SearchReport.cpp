//===- SearchReport.cpp - What a search found, and why the others lost
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/SearchReport.h"
#include "runtime/abi/console/AmountText.h"
#include <algorithm>
#include <tuple>
#include <utility>

namespace dtcc::plan {

using cost::StepSeconds;

void PlanReport::confirm(const MemoryParts &most, double separate) {
  estimated = std::exchange(memory, most);
  memory.communicators = estimated->communicators + separate - std::exchange(separateBytes, separate);
}

void PlanReport::forecast(const cost::StepSeconds &step) {
  estimatedParts = std::exchange(parts, step);
  parts.recompute = std::min(estimatedParts->recompute, parts.compute);
  seconds = parts.total();
}

PlanReport PlanReport::asEstimated() const {
  PlanReport plan = *this;
  if (estimatedParts) {
    plan.parts = *estimatedParts;
    plan.seconds = estimatedSeconds();
    plan.estimatedParts.reset();
  }
  return plan;
}

double PlanReport::timesOf(const PlanReport &best) const {
  bool bothCompiled = estimatedParts && best.estimatedParts;
  return bothCompiled ? seconds / best.seconds : estimatedSeconds() / best.estimatedSeconds();
}

size_t PlanReport::recomputed() const {
  size_t sum = 0;
  for (const StageReport &stage : stages)
    sum += stage.recomputed;
  return sum;
}

size_t PlanReport::offloaded() const {
  size_t sum = 0;
  for (const StageReport &stage : stages)
    sum += stage.offloaded;
  return sum;
}

double SearchReport::excess(const PlanReport &plan) const {
  return plan.fits ? 0 : std::max(0.0, plan.memory.total() - memoryBytes);
}

std::string SearchReport::nameOf(const PlanReport &plan) const {
  auto isTwin = [&](const PlanReport &other) { return other.shape == plan.shape; };
  std::string name = plan.shape.str();
  if (std::count_if(plans.begin(), plans.end(), isTwin) > 1)
    name += ", " + std::to_string(plan.recomputed()) + " recomputed";
  return name;
}

void describeStages(const StageProblem &problem, const StageSolution &solution, const MemoryParts &state,
                    PlanReport &report, const std::function<bool(uint32_t type, uint32_t mode)> &recomputes) {
  double whole = state.parameters + state.gradients + state.optimizer;
  for (size_t s = 0; s < solution.stages.size(); ++s) {
    const StageSolution::Stage &solved = solution.stages[s];
    size_t end = s + 1 < solution.stages.size() ? solution.stages[s + 1].firstBlock : problem.blocks.size();
    StageReport stage;
    stage.firstBlock = solved.firstBlock;
    stage.blocks = end - stage.firstBlock;
    stage.seconds = solved.seconds;
    double bytes = 0;
    for (size_t block = stage.firstBlock; block < end; ++block) {
      const BlockType &type = problem.types[problem.blocks[block]];
      uint32_t mode = solution.modes[block];
      bytes += type.stateBytes;
      const BlockMode &chosen = type.modes[solved.deviceClass][mode];
      stage.memory.activations += chosen.heldBytes * problem.inFlight[s];
      stage.memory.host += chosen.hostBytes * problem.inFlight[s];
      stage.memory.working = std::max(stage.memory.working, type.workingBytes + chosen.workingBytes);
      stage.recomputed += recomputes(problem.blocks[block], mode);
      stage.offloaded += chosen.hostBytes > 0;
    }
    double scale = whole > 0 ? bytes / whole : 0;
    stage.memory.parameters = scale * state.parameters;
    stage.memory.gradients = scale * state.gradients;
    stage.memory.optimizer = scale * state.optimizer;
    stage.memory.host += scale * state.host;
    if (report.stages.empty() || stage.memory.total() > report.memory.total())
      report.memory = stage.memory;
    report.stages.push_back(stage);
  }
}

namespace {
/// A plan beside the best one.
struct Pair {
  const PlanReport &plan, &best;
  const SearchReport &report;

  const Parallelism &mine() const { return plan.shape; }
  const Parallelism &its() const { return best.shape; }
  double samples(const Parallelism &shape) const {
    return double(report.batch) / double(shape.dp * shape.microbatches);
  }
};

std::string count(int64_t number, const char *noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string batches(int64_t number) {
  return std::to_string(number) + (number == 1 ? " micro-batch" : " micro-batches");
}

/// "tp=8": an axis and its size; ", not 4" if the best plan has another.
std::string against(const char *axis, int64_t mine, int64_t its) {
  return std::string(axis) + "=" + std::to_string(mine) + (mine == its ? "" : ", not " + std::to_string(its));
}

/// Seconds that the longest stage is above the mean, of a step.
double unevenness(const PlanReport &plan) {
  double sum = 0, most = 0;
  for (const StageReport &stage : plan.stages) {
    sum += stage.seconds;
    most = std::max(most, stage.seconds);
  }
  return plan.stages.empty() ? 0 : double(plan.shape.microbatches) * (most - sum / double(plan.stages.size()));
}

std::string whyCompute(const Pair &pair, double seconds) {
  if (unevenness(pair.plan) - unevenness(pair.best) > 0.5 * seconds)
    return "uneven stages: the longest is above the mean by " +
           formatSeconds(unevenness(pair.plan) / double(pair.mine().microbatches)) + " a micro-batch";
  if (pair.mine().tp > pair.its().tp)
    return "smaller products, " + against("tp", pair.mine().tp, pair.its().tp);
  if (pair.samples(pair.mine()) < pair.samples(pair.its()))
    return "smaller products, micro-batches of " +
           count(pair.report.batch / (pair.mine().dp * pair.mine().microbatches), "sample") +
           (pair.mine().cp > 1 ? " over cp=" + std::to_string(pair.mine().cp) : "");
  if (pair.mine().zero < pair.its().zero)
    return "each rank updates more, " + against("zero", pair.mine().zero, pair.its().zero);
  if (pair.mine().zero == 3 && pair.its().zero < 3)
    return "kernels beside gathers of zero=3";
  return pair.mine().tp * pair.mine().pp < pair.its().tp * pair.its().pp ? "a device has more of the model to update"
                                                                         : "other stages and products";
}

std::string whyRecompute(const Pair &pair, double) {
  size_t blocks = 0;
  for (const StageReport &stage : pair.plan.stages)
    blocks += stage.blocks;
  const size_t again = pair.plan.recomputed(), others = pair.best.recomputed();
  if (again > 0)
    return std::to_string(again) + " of " + count(int64_t(blocks), "block") + " recomputed" +
           (others > 0 ? ", not " + std::to_string(others) : " to fit");
  return "activations recomputed to fit";
}

std::string whyTensor(const Pair &pair, double) {
  const Parallelism &shape = pair.mine();
  std::string node = " leaves the " + std::to_string(pair.report.domain) + " devices that the fast link joins";
  if (shape.tp > pair.report.domain)
    return "tp=" + std::to_string(shape.tp) + node;
  if (shape.cp > 1 && shape.tp * shape.cp > pair.report.domain && shape.cp > pair.its().cp)
    return "cp=" + std::to_string(shape.cp) + " around tp=" + std::to_string(shape.tp) + node;
  if (shape.tp > pair.its().tp)
    return "activations summed over " + against("tp", shape.tp, pair.its().tp);
  if (shape.cp > pair.its().cp)
    return "keys and values go around " + against("cp", shape.cp, pair.its().cp);
  if (shape.ep > pair.its().ep)
    return "tokens sent to experts over " + against("ep", shape.ep, pair.its().ep);
  if (shape.dp < pair.its().dp)
    return "each group of tp and cp takes more samples, " + against("dp", shape.dp, pair.its().dp);
  if (shape.cp > 1 && shape.exchange != pair.its().exchange)
    return "cp-attention=" + std::string(toString(shape.exchange)) + " over cp=" + std::to_string(shape.cp);
  if (shape.tp > 1)
    return "activations summed over tp=" + std::to_string(shape.tp);
  if (shape.cp > 1)
    return "keys and values go around cp=" + std::to_string(shape.cp);
  if (shape.ep > 1)
    return "tokens sent to experts over ep=" + std::to_string(shape.ep);
  return "other placements";
}

std::string whyData(const Pair &pair, double) {
  const Parallelism &mine = pair.mine(), &its = pair.its();
  std::string each = mine.microbatches == 1 ? " once a step" : " for each of " + batches(mine.microbatches);
  if (mine.zero >= 2 && (its.zero < mine.zero || mine.microbatches > its.microbatches))
    return std::string(mine.zero == 3 ? "parameters gathered" : "gradients scattered") + each +
           ", zero=" + std::to_string(mine.zero);
  int64_t parts = mine.tp * mine.pp, itsParts = its.tp * its.pp;
  if (parts < itsParts)
    return "a device reduces gradients of 1/" + std::to_string(parts) + " of the model, not 1/" +
           std::to_string(itsParts);
  if (mine.dp * mine.cp > its.dp * its.cp)
    return "gradients reduced over " + count(mine.dp * mine.cp, "rank") + ", not " + std::to_string(its.dp * its.cp);
  if (mine.zero != its.zero)
    return "reduced under " + against("zero", mine.zero, its.zero);
  return "less work beside it to hide the reduction of gradients";
}

std::string whySends(const Pair &pair, double) {
  return batches(pair.mine().microbatches) + " sent on by " +
         count(pair.mine().pp * pair.mine().virtualStages, "stage");
}

std::string whyBubble(const Pair &pair, double) {
  const Parallelism &mine = pair.mine(), &its = pair.its();
  std::string text = batches(mine.microbatches) + " over " + count(mine.pp, "stage");
  if (mine.schedule != its.schedule || mine.virtualStages != its.virtualStages)
    text += ", " + mine.scheduleName();
  return text;
}

std::string whyHost(const Pair &pair, double) {
  if (pair.mine().offload.optimizer && !pair.its().offload.optimizer)
    return "gradients go to the host, which updates, and parameters come back";
  return batches(pair.mine().microbatches) + " whose kernels end before the host issues the next";
}

/// A part of a step, and where more of it comes from.
struct Part {
  const char *name;
  double (*seconds)(const StepSeconds &);
  std::string (*why)(const Pair &pair, double seconds);
};
constexpr Part kParts[] = {
    {"compute", [](const StepSeconds &s) { return s.compute - s.recompute; }, whyCompute},
    {"recomputation", [](const StepSeconds &s) { return s.recompute; }, whyRecompute},
    {"tensor and context communication", [](const StepSeconds &s) { return s.tensor; }, whyTensor},
    {"gradients and parameters", [](const StepSeconds &s) { return s.data; }, whyData},
    {"sends between stages", [](const StepSeconds &s) { return s.stages; }, whySends},
    {"bubble", [](const StepSeconds &s) { return s.bubble; }, whyBubble},
    {"host", [](const StepSeconds &s) { return s.host; }, whyHost}};

struct MemoryPart {
  const char *name;
  double MemoryParts::*bytes;
};
constexpr MemoryPart kMemory[] = {
    {"parameters", &MemoryParts::parameters},  {"gradients", &MemoryParts::gradients},
    {"optimizer", &MemoryParts::optimizer},    {"activations", &MemoryParts::activations},
    {"working values", &MemoryParts::working}, {"communicators", &MemoryParts::communicators}};
} // namespace

/// Share of a step that two plans may differ by and be called as fast.
static constexpr double kAlike = 1e-4;

/// "needs 12.0 GiB more than a device has: activations 40.0 GiB".
static std::string whyTooLarge(const PlanReport &plan, const SearchReport &report) {
  const MemoryPart *most = std::max_element(std::begin(kMemory), std::end(kMemory), [&](auto &a, auto &b) {
    return plan.memory.*a.bytes < plan.memory.*b.bytes;
  });
  if (report.excess(plan) == 0 && plan.hostLack > 0)
    return "needs " + formatBytes(plan.hostLack) +
           " more than the host of a device has: " + formatBytes(plan.memory.host) + " are left to it";
  return "needs " + formatBytes(report.excess(plan)) + " more than a device has: " + most->name + " " +
         formatBytes(plan.memory.*most->bytes);
}

std::string whatIsLacking(const PlanReport &nearest, double usable) {
  std::vector<MemoryPart> parts(std::begin(kMemory), std::end(kMemory));
  std::sort(parts.begin(), parts.end(), [&](const MemoryPart &a, const MemoryPart &b) {
    return nearest.memory.*a.bytes > nearest.memory.*b.bytes;
  });
  double all = nearest.memory.total();
  std::string most;
  for (size_t i = 0; i < 2; ++i)
    if (double bytes = nearest.memory.*parts[i].bytes; bytes > 0)
      most += (most.empty() ? "" : ", ") + std::string(parts[i].name) + " " + formatBytes(bytes);
  std::string text = "the nearest, " + nearest.shape.str() + ", lacks ";
  if (all > usable || nearest.hostLack <= 0)
    text += formatBytes(std::max(0.0, all - usable)) + ": a device holds " + formatBytes(all) + " (" + most +
            ") and may use " + formatBytes(usable);
  if (nearest.hostLack > 0)
    text += (all > usable ? ", and " : "") + formatBytes(nearest.hostLack) + " with its host, to which " +
            formatBytes(nearest.memory.host) + " are left";
  return text;
}

std::string whyBehind(const PlanReport &plan, const PlanReport &best, const SearchReport &report) {
  if (!plan.fits)
    return whyTooLarge(plan, report);
  if (plan.estimatedParts.has_value() != best.estimatedParts.has_value())
    return whyBehind(plan.asEstimated(), best.asEstimated(), report);
  if (double less = best.seconds - plan.seconds; less > kAlike * best.seconds && report.compared > 0)
    return "estimated to take " + formatSeconds(less) + " less, but " +
           (report.compared > 1 ? "plan 1 is the fastest of those that were compiled" : "plan 1 alone was compiled");
  struct Change {
    const Part *part;
    double seconds;
  };
  std::vector<Change> changes;
  for (const Part &part : kParts)
    changes.push_back({&part, part.seconds(plan.parts) - part.seconds(best.parts)});
  std::sort(changes.begin(), changes.end(),
            [](const Change &a, const Change &b) { return std::tie(b.seconds, a.part) < std::tie(a.seconds, b.part); });
  double most = changes.front().seconds;
  if (plan.seconds - best.seconds < kAlike * best.seconds || !(most > 0)) {
    double more = plan.memory.total() - best.memory.total();
    return more > 0 ? "as fast, but needs " + formatBytes(more) + " more" : "as fast";
  }
  Pair pair{plan, best, report};
  std::string text;
  for (size_t i = 0; i < 2 && changes[i].seconds >= 0.2 * most; ++i)
    text += (i ? "; +" : "+") + formatSeconds(changes[i].seconds) + " " + changes[i].part->name + ": " +
            changes[i].part->why(pair, changes[i].seconds);
  if (const Change &less = changes.back(); less.seconds < -0.2 * most)
    text += "; saves " + formatSeconds(-less.seconds) + " of " + less.part->name;
  return text;
}

void explainPlans(SearchReport &report) {
  for (size_t i = 1; i < report.plans.size(); ++i)
    report.plans[i].reason = whyBehind(report.plans[i], report.plans.front(), report);
  // The first may have stood behind another before the programs were compared.
  if (!report.plans.empty())
    report.plans.front().reason = report.plans.front().fits ? "" : whyTooLarge(report.plans.front(), report);
}

} // namespace dtcc::plan
