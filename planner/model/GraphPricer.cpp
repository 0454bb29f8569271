//===- GraphPricer.cpp - Shapes of a plan for a graph on a cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/GraphPricer.h"
#include "planner/problem/StageBound.h"
#include "planner/transformer/Memory.h"
#include <map>
#include <set>
#include <tuple>

using namespace mlir;

namespace dtcc::spmd {

using plan::Parallelism;

/// Whether two shapes differ in their weights, exchanges and schedules alone.
static bool areNear(const Parallelism &a, const Parallelism &b) {
  auto sizes = [](const Parallelism &shape) {
    return std::tie(shape.dp, shape.tp, shape.cp, shape.ep, shape.pp, shape.microbatches, shape.zero,
                    shape.offload.optimizer, shape.sequenceParallel);
  };
  return sizes(a) == sizes(b);
}

/// Removes families with stationary weights that are placed as the same family without them, if that one is there too.
/// A space has both in one run of shapes that are near each other.
void GraphPricer::removeStationaryTwins(plan::ShapeList &shapes) {
  /// The answers for each tp, cp, ep and sequence parallelism.
  std::map<std::tuple<int64_t, int64_t, int64_t, bool>, bool> alike;
  auto isAlike = [&](const Parallelism &shape) {
    auto [at, isNew] = alike.try_emplace({shape.tp, shape.cp, shape.ep, shape.sequenceParallel});
    if (isNew)
      at->second = placements().gathersNoWeights(shape);
    return at->second;
  };
  /// Families without stationary weights that are near the last one.
  std::vector<plan::ShapeFamily> others;
  auto isTwin = [&](const plan::ShapeFamily &family) {
    if (!others.empty() && !areNear(others.front().fewest, family.fewest))
      others.clear();
    if (!family.fewest.stationaryWeights) {
      others.push_back(family);
      return false;
    }
    plan::ShapeFamily twin = family;
    twin.fewest.stationaryWeights = false;
    return isAlike(family.fewest) && llvm::is_contained(others, twin);
  };
  shapes.eraseFamiliesIf(isTwin);
}

bool GraphPricer::prepare(plan::ShapeList &shapes) {
  kinds.place(shapes);
  removeStationaryTwins(shapes);
  kinds.prepare(shapes);
  std::set<SequenceExchange> exchanges;
  for (const plan::ShapeFamily &family : shapes.families())
    exchanges.insert(family.fewest.exchange);
  shapes.eraseFamiliesIf([&](const plan::ShapeFamily &family) {
    std::optional<SequenceExchange> same = placements().sameAs(family.fewest);
    return same && exchanges.contains(*same);
  });
  return true;
}

/// Infinity where the devices of all kinds together have too few stages.
static double boundOf(const plan::StageProblem &problem, int64_t pp) {
  int64_t stages = 0;
  for (const plan::DeviceClass &kind : problem.classes)
    stages += kind.stages;
  return stages < pp ? plan::kNever : plan::quickBound(problem);
}

double GraphPricer::bound(const Parallelism &shape) {
  if (!kinds.first().problems.canBeCut(shape) || !placements().isPossible(shape))
    return plan::kNever;
  // Millions of shapes are bounded, and each needs a dozen small arrays.
  static thread_local plan::StageProblem each;
  kinds.makeProblem(shape, std::nullopt, each);
  return boundOf(each, shape.pp);
}

double GraphPricer::boundBetween(const Parallelism &fewest, const Parallelism &most) {
  // If an end of the family is no candidate, nothing is known of the shapes between.
  if (!kinds.first().problems.canBeCut(fewest) || !kinds.first().problems.canBeCut(most))
    return 0;
  if (!placements().isPossible(fewest))
    return plan::kNever;
  static thread_local plan::StageProblem low, high;
  kinds.makeProblem(fewest, std::nullopt, low);
  kinds.makeProblem(most, std::nullopt, high);
  low.takeLess(high);
  return boundOf(low, fewest.pp);
}

double GraphPricer::closerBound(const Parallelism &shape) {
  double bound = plan::closeBound(problem(shape));
  // Where weight gradients are apart, blocks that are all in one mode wait at fewer micro-batches than a mixture.
  if (hasWeightsApart(shape))
    for (uint32_t mode : solver.commonModes())
      bound = std::min(bound, plan::closeBound(kinds.problem(shape, mode)));
  return bound;
}

plan::StageSolution GraphPricer::solveWithin(const Parallelism &shape, double bytes) {
  plan::StageSolution fastest = solver.solve(shape, bytes);
  if (fastest.isInfeasible())
    return fastest;
  double seconds = refine(shape, fastest);
  for (plan::StageSolution &other : solver.alike(shape, bytes, plan::kNever))
    if (double own = refine(shape, other); own < seconds) {
      seconds = own;
      fastest = std::move(other);
    }
  return fastest;
}

llvm::Expected<cost::StepTimeline> GraphPricer::simulate(const Parallelism &shape, const plan::StageSolution &solution,
                                                         bool record) {
  plan::SimulatedStep step = kinds.simulated(shape, solution);
  if (facts().request.actions.ranks.empty())
    return plan::simulate(step, shape, record);
  if (std::string wrong = step.check(facts().request.actions); !wrong.empty())
    return llvm::createStringError(wrong);
  return plan::simulate(step, facts().request.actions, record);
}

std::optional<cost::StepTimeline> GraphPricer::timeline(const Parallelism &shape, const plan::StageSolution &solution,
                                                        bool record) {
  llvm::Expected<cost::StepTimeline> timeline = simulate(shape, solution, record);
  if (timeline)
    return std::move(*timeline);
  llvm::consumeError(timeline.takeError());
  return std::nullopt;
}

cost::StepSeconds GraphPricer::price(const Parallelism &shape, const plan::StageSolution &solution, double below) {
  std::vector<size_t> key(solution.modes.begin(), solution.modes.end());
  for (const plan::StageSolution::Stage &stage : solution.stages)
    key.insert(key.end(), {stage.firstBlock, stage.deviceClass});
  std::pair name(shape.str(), std::move(key));
  {
    std::lock_guard lock(pricing);
    if (auto at = priced.find(name); at != priced.end())
      return at->second;
  }
  // The formulas know one kind of devices: on several, all stages are as the one that needs most.
  auto slowest = std::max_element(solution.stages.begin(), solution.stages.end(),
                                  [](const auto &a, const auto &b) { return a.seconds < b.seconds; });
  size_t slow = size_t(slowest - solution.stages.begin());
  DeviceKind &of = kinds.of(solution.stages[slow]);
  SolvedStep solved = of.solved(shape, solution);
  if (isMixed()) {
    auto most = solved.problem.stages[slow];
    solved.problem.stages.assign(solved.problem.stages.size(), most);
  }
  cost::StepSeconds seconds = cost::priceStep(solved.problem, of.facts.machine.constants);
  size_t longest = isMixed() ? slow : std::max_element(solved.once.begin(), solved.once.end()) - solved.once.begin();
  seconds.compute += solved.once[longest] - solved.exchanged[longest];
  seconds.tensor += solved.exchanged[longest];
  // The simulation of one kind of devices only adds to the formulas. On several it may also take less.
  if (!isMixed() && seconds.total() >= below)
    return seconds;
  llvm::Expected<cost::StepTimeline> timeline = simulate(shape, solution, /*record=*/false);
  // The formulas hide what software hides in runs that were measured; what waits for what may not allow it. Of several
  // kinds the simulation alone knows what they take together.
  if (timeline && isMixed())
    seconds.bubble = std::max(0.0, seconds.bubble + timeline->seconds - seconds.total());
  else if (timeline)
    (shape.pp > 1 ? seconds.bubble : seconds.data) += std::max(0.0, timeline->seconds - seconds.total());
  else
    llvm::consumeError(timeline.takeError());
  std::lock_guard lock(pricing);
  priced.emplace(std::move(name), seconds);
  return seconds;
}

plan::PlanReport GraphPricer::describe(const plan::ShapePlan &found) {
  DeviceKind &first = kinds.first();
  plan::PlanReport report;
  report.shape = found.shape;
  report.parts = price(found.shape, found.stages);
  report.seconds = report.parts.total();
  plan::MemoryParts state;
  for (const BlockMemory &block : placements().pricedFor(found.shape).memory) {
    plan::MemoryParts each = first.problems.stateOf(found.shape, block);
    state.parameters += each.parameters;
    state.gradients += each.gradients;
    state.optimizer += each.optimizer;
    state.host += each.host;
  }
  plan::StageProblem solved = problem(found.shape);
  const std::vector<BlockWork> &works = placements().worksOf(found.shape);
  plan::describeStages(solved, found.stages, state, report, [&](uint32_t type, uint32_t mode) {
    return works[type].computesAgain(first.facts.recomputeOf(mode));
  });
  if (!isMixed()) {
    report.memory = {};
    for (auto [stage, memory] :
         llvm::zip_equal(report.stages, first.problems.memoryByRank(found.shape, solved, found.stages))) {
      stage.memory = memory;
      if (memory.total() > report.memory.total())
        report.memory = memory;
    }
  }
  double limit = first.facts.usableBytes(found.shape);
  if (!first.facts.machine.isCpu())
    report.memory.communicators = cost::usableBytes(first.facts.machine.device) - limit;
  report.separateBytes = first.facts.separateBytes(found.shape);
  if (found.shape.tp > 1)
    report.splitByTensor = placements().splitByTensor(found.shape);
  report.fits = first.facts.machine.memoryBytes() <= 0 || report.memory.total() - report.memory.communicators <= limit;
  if (isMixed()) {
    report.fits = true;
    for (auto [stage, memory] : llvm::zip_equal(found.stages.stages, report.stages)) {
      double usable = kinds.of(stage).facts.usableBytes(found.shape);
      report.fits &= memory.memory.total() <= usable;
    }
  }
  const cost::HostSide &host = first.facts.machine.host;
  double room = host.memoryBytes + (host.nvmeBytesPerSecond > 0 ? host.nvmeBytes : 0);
  report.hostLack = std::max(0.0, report.memory.host - room);
  report.fits &= report.hostLack == 0;
  return report;
}

plan::Plan GraphPricer::write(const Parallelism &shape, const plan::StageSolution &solution) {
  DeviceKind &first = kinds.first();
  return PlanWriter(first.facts, first.placements, first.problems)
      .write(shape, solution, isMixed() ? kinds.devicesOf(solution) : std::vector<std::string>());
}

} // namespace dtcc::spmd
