//===- GraphPricer.cpp - Shapes of a plan for a graph on a cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/GraphPricer.h"
#include "planner/problem/StageBound.h"
#include "planner/transformer/Memory.h"
#include <limits>
#include <set>

using namespace mlir;

namespace dtcc::spmd {

using plan::Parallelism;

GraphPricer::GraphPricer(func::FuncOp step, llvm::ArrayRef<cost::Machine> machines, const GraphRequest &request) {
  int64_t ranks = 0;
  for (const cost::Machine &machine : machines)
    ranks += machine.ranks;
  for (const cost::Machine &machine : machines)
    kinds.push_back(std::make_unique<Kind>(step, machine, ranks, machines.size() > 1, request,
                                           kinds.empty() ? nullptr : kinds.front().get()));
}

bool GraphPricer::prepare(std::vector<Parallelism> &shapes) {
  for (const std::unique_ptr<Kind> &kind : kinds) {
    std::vector<const Parallelism *> cut;
    for (const Parallelism &shape : shapes)
      if (kind->problems.canBeCut(shape))
        cut.push_back(&shape);
    kind->placements.prepare(cut);
  }
  std::set<SequenceExchange> exchanges;
  for (const Parallelism &shape : shapes)
    exchanges.insert(shape.exchange);
  std::erase_if(shapes, [&](const Parallelism &shape) {
    std::optional<SequenceExchange> same = placements().sameAs(shape);
    return same && exchanges.contains(*same);
  });
  return true;
}

plan::StageProblem GraphPricer::problemOf(const Parallelism &shape, std::optional<uint32_t> only) {
  plan::StageProblem problem = kinds.front()->problems.make(shape, only);
  for (const std::unique_ptr<Kind> &other : llvm::drop_begin(kinds))
    problem.addClasses(other->problems.make(shape, only));
  return problem;
}

plan::StageProblem GraphPricer::problem(const Parallelism &shape) { return problemOf(shape, std::nullopt); }

double GraphPricer::bound(const Parallelism &shape) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (!kinds.front()->problems.canBeCut(shape) || !placements().isPossible(shape))
    return never;
  plan::StageProblem each = problem(shape);
  int64_t stages = 0;
  for (const plan::DeviceClass &kind : each.classes)
    stages += kind.stages;
  return stages < shape.pp ? never : plan::quickBound(each);
}

double GraphPricer::closerBound(const Parallelism &shape) {
  double bound = plan::closeBound(problem(shape));
  // Where weight gradients are apart, blocks that are all in one mode wait at fewer micro-batches than a mixture.
  if (hasWeightsApart(shape))
    for (uint32_t mode : commonModes())
      bound = std::min(bound, plan::closeBound(problemOf(shape, mode)));
  return bound;
}

std::vector<uint32_t> GraphPricer::commonModes() const {
  std::vector<uint32_t> modes;
  if (!facts().request.recompute && !facts().request.given)
    for (uint32_t mode = 0; mode < facts().modes().size(); ++mode)
      modes.push_back(mode);
  return modes;
}

plan::StageSolution GraphPricer::solveAlike(const Parallelism &shape, std::optional<uint32_t> only,
                                            std::optional<double> bytes) {
  /// How often less memory is tried.
  constexpr int kTries = 4;
  plan::StageProblem problem = problemOf(shape, only);
  if (bytes)
    for (plan::DeviceClass &each : problem.classes)
      each.memoryBytes = *bytes;
  plan::StageSolver solver(problem);
  auto solve = [&] {
    plan::StageSolution found = solver.solve();
    if (only)
      std::fill(found.modes.begin(), found.modes.end(), *only);
    return found;
  };
  plan::StageSolution found = solve();
  // With several kinds of devices each stage has the memory of its kind, and the estimate of the problem is all there
  // is.
  if ((!facts().hasVirtualStages(shape) && !hasWeightsApart(shape)) || isMixed())
    return found;
  double usable = problem.classes[0].memoryBytes, lowerBound = found.lowerBound;
  for (int tries = 0; !found.isInfeasible(); ++tries) {
    double most = 0, estimated = 0;
    for (const plan::MemoryParts &memory : kinds.front()->problems.memoryByRank(shape, problem, found))
      most = std::max(most, memory.total());
    for (const plan::StageSolution::Stage &stage : found.stages)
      estimated = std::max(estimated, stage.bytes);
    if (most <= usable)
      break;
    if (tries == kTries)
      return {};
    // The limit falls by as much as this solution holds more than the problem knew.
    problem.classes[0].memoryBytes = std::min(0.999 * problem.classes[0].memoryBytes, usable * estimated / most);
    found = solve();
  }
  // No solution within the memory that there is takes less than the first.
  found.lowerBound = std::min(found.lowerBound, lowerBound);
  return found;
}

plan::StageSolution GraphPricer::solveMixed(const Parallelism &shape, std::optional<double> bytes) {
  plan::StageSolution found = solveAlike(shape, std::nullopt, bytes);
  if (!found.isInfeasible())
    return found;
  for (plan::StageSolution &other : othersWithin(shape, found, bytes, plan::kNever))
    if (found.isInfeasible() || other.seconds < found.seconds)
      found = std::move(other);
  return found;
}

std::vector<plan::StageSolution> GraphPricer::othersWithin(const Parallelism &shape, const plan::StageSolution &best,
                                                           std::optional<double> bytes, double below) {
  std::vector<plan::StageSolution> found;
  for (uint32_t mode : commonModes())
    if ((best.isInfeasible() || llvm::any_of(best.modes, [&](uint32_t own) { return own != mode; })) &&
        plan::closeBound(problemOf(shape, mode)) < below)
      if (plan::StageSolution other = solveAlike(shape, mode, bytes); !other.isInfeasible())
        found.push_back(std::move(other));
  return found;
}

std::vector<plan::StageSolution> GraphPricer::others(const Parallelism &shape, const plan::StageSolution &best,
                                                     double below) {
  return othersWithin(shape, best, std::nullopt, below);
}

plan::StageSolution GraphPricer::solveWithin(const Parallelism &shape, double bytes) {
  plan::StageSolution fastest = solveMixed(shape, bytes);
  if (fastest.isInfeasible())
    return fastest;
  double seconds = refine(shape, fastest);
  for (plan::StageSolution &other : othersWithin(shape, fastest, bytes, plan::kNever))
    if (double own = refine(shape, other); own < seconds) {
      seconds = own;
      fastest = std::move(other);
    }
  return fastest;
}

llvm::Expected<cost::StepTimeline> GraphPricer::simulate(const Parallelism &shape, const plan::StageSolution &solution,
                                                         bool record) {
  SolvedStep solved = kinds.front()->solved(shape, solution);
  plan::SimulatedStep step = solved.simulated(facts());
  if (isMixed()) {
    std::vector<plan::SimulatedStep> steps = {step};
    std::vector<size_t> kindOfRank;
    for (const std::unique_ptr<Kind> &other : llvm::drop_begin(kinds))
      steps.push_back(other->solved(shape, solution).simulated(other->facts));
    for (size_t rank = 0; rank < size_t(shape.pp); ++rank)
      kindOfRank.push_back(solution.stages[rank].deviceClass);
    step = plan::onKinds(steps, kindOfRank);
  }
  if (facts().request.actions.ranks.empty())
    return plan::simulate(step, solved.problem.parallel, record);
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

cost::StepSeconds GraphPricer::price(const Parallelism &shape, const plan::StageSolution &solution) {
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
  Kind &of = kindOf(solution, slow);
  SolvedStep solved = of.solved(shape, solution);
  if (isMixed()) {
    auto most = solved.problem.stages[slow];
    solved.problem.stages.assign(solved.problem.stages.size(), most);
  }
  cost::StepSeconds seconds = cost::priceStep(solved.problem, of.facts.machine.constants);
  size_t longest = isMixed() ? slow : std::max_element(solved.once.begin(), solved.once.end()) - solved.once.begin();
  seconds.compute += solved.once[longest] - solved.exchanged[longest];
  seconds.tensor += solved.exchanged[longest];
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
  Kind &first = *kinds.front();
  plan::PlanReport report;
  report.shape = found.shape;
  report.parts = price(found.shape, found.stages);
  report.seconds = report.parts.total();
  plan::MemoryParts state;
  for (const BlockCost &block : placements().pricedFor(found.shape).costs) {
    plan::MemoryParts each = first.problems.stateOf(found.shape, block);
    state.parameters += each.parameters;
    state.gradients += each.gradients;
    state.optimizer += each.optimizer;
    state.host += each.host;
  }
  plan::StageProblem solved = problem(found.shape);
  plan::describeStages(solved, found.stages, state, report, [&](uint32_t type, uint32_t mode) {
    const cost::Work &again =
        placements().pricedFor(found.shape).costs[type].again[size_t(first.facts.recomputeOf(mode))];
    return again.streamBytes > 0 || !again.gemms.empty() || !again.attentions.empty();
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
      double usable = kinds[stage.deviceClass]->facts.usableBytes(found.shape);
      report.fits &= memory.memory.total() <= usable;
    }
  }
  const cost::HostSide &host = first.facts.machine.host;
  double room = host.memoryBytes + (host.nvmeBytesPerSecond > 0 ? host.nvmeBytes : 0);
  report.hostLack = std::max(0.0, report.memory.host - room);
  report.fits &= report.hostLack == 0;
  return report;
}

std::vector<std::string> GraphPricer::devicesOf(const plan::StageSolution &solution) const {
  std::vector<std::string> names;
  if (isMixed())
    for (const plan::StageSolution::Stage &stage : solution.stages)
      names.push_back(kinds[stage.deviceClass]->facts.machine.device.name);
  return names;
}

plan::Plan GraphPricer::write(const Parallelism &shape, const plan::StageSolution &solution) {
  Kind &first = *kinds.front();
  return PlanWriter(first.facts, first.placements, first.problems).write(shape, solution, devicesOf(solution));
}

std::string GraphPricer::stagesText(const plan::StageSolution &solution) const {
  std::string text;
  for (const plan::StageSolution::Stage &stage : solution.stages)
    text += (text.empty() ? "" : ", ") + kinds[stage.deviceClass]->facts.machine.device.name;
  return text;
}

} // namespace dtcc::spmd
