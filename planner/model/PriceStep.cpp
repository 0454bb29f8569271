//===- PriceStep.cpp - The step of a solved shape, by formulas and event by event
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/KnownPrices.h"
#include "planner/schedule/StepSimulation.h"

using namespace mlir;

namespace dtcc::spmd {

using plan::PlanShape;

/// The step with the blocks of each rank of the pipeline, and of each stage its layers in their order.
GraphPricer::SolvedStep GraphPricer::solvedStep(const PlanShape &shape, const plan::StageSolution &solution) {
  const Local &local = localFor(shape);
  SolvedStep solved;
  solved.problem = stepOf(shape, local);
  solved.problem.layers = local.layers;
  size_t each = modeCount(), count = solution.modes.size(), ranks = size_t(shape.pp);
  std::vector<size_t> firsts = cutsOf(shape, solution);
  firsts.insert(firsts.begin(), 0);
  solved.once.resize(ranks);
  solved.exchanged.resize(ranks);
  std::vector<std::vector<double>> counts(ranks, std::vector<double>(solved.problem.layers.size()));
  for (size_t stage = 0; stage < firsts.size(); ++stage) {
    size_t end = stage + 1 < firsts.size() ? firsts[stage + 1] : count, rank = stage % ranks;
    std::vector<size_t> layers;
    for (size_t block = firsts[stage]; block < end; ++block) {
      uint32_t type = input.blocks.blocks()[block].type;
      layers.push_back(type * each + pricedMode(uint32_t(type), solution.modes[block]));
      ++counts[rank][layers.back()];
      solved.once[rank] += local.once[type];
      solved.exchanged[rank] += local.costs[type].once.exchangeSeconds;
    }
    solved.layers.push_back(std::move(layers));
  }
  for (const std::vector<double> &own : counts) {
    std::vector<cost::StageLayer> layers;
    for (size_t layer = 0; layer < own.size(); ++layer)
      if (own[layer] > 0)
        layers.push_back({layer, own[layer]});
    solved.problem.stages.push_back(std::move(layers));
  }
  return solved;
}

plan::SimulatedStep GraphPricer::simulatedStep(const SolvedStep &solved) const {
  plan::SimulatedStep step = plan::simulatedStepOf(solved.problem, solved.layers, machine.constants);
  for (size_t rank = 0; rank < solved.once.size(); ++rank)
    step.ends[rank].update += solved.once[rank];
  return step;
}

/// The kind of devices that a rank of the pipeline is of.
size_t GraphPricer::kindOf(const plan::StageSolution &solution, size_t rank) const {
  return isMixed() ? solution.stages[rank].deviceClass : 0;
}

llvm::Expected<cost::StepTimeline> GraphPricer::simulate(const PlanShape &shape, const plan::StageSolution &solution,
                                                         bool record) {
  SolvedStep solved = solvedStep(shape, solution);
  plan::SimulatedStep step = simulatedStep(solved);
  if (isMixed()) {
    std::vector<plan::SimulatedStep> steps = {step};
    std::vector<size_t> kindOfRank;
    for (const std::unique_ptr<GraphPricer> &other : others)
      steps.push_back(other->simulatedStep(other->solvedStep(shape, solution)));
    for (size_t rank = 0; rank < size_t(shape.pp); ++rank)
      kindOfRank.push_back(kindOf(solution, rank));
    step = plan::onKinds(steps, kindOfRank);
  }
  if (request.actions.ranks.empty())
    return plan::simulate(step, solved.problem.parallel, record);
  if (std::string wrong = step.check(request.actions); !wrong.empty())
    return llvm::createStringError(wrong);
  return plan::simulate(step, request.actions, record);
}

std::optional<cost::StepTimeline> GraphPricer::timeline(const PlanShape &shape, const plan::StageSolution &solution,
                                                        bool record) {
  llvm::Expected<cost::StepTimeline> timeline = simulate(shape, solution, record);
  if (timeline)
    return std::move(*timeline);
  llvm::consumeError(timeline.takeError());
  return std::nullopt;
}

cost::StepSeconds GraphPricer::price(const PlanShape &shape, const plan::StageSolution &solution) {
  std::vector<size_t> key(solution.modes.begin(), solution.modes.end());
  for (const plan::StageSolution::Stage &stage : solution.stages)
    key.insert(key.end(), {stage.firstBlock, stage.deviceClass});
  std::pair name(shape.str(), std::move(key));
  {
    std::lock_guard lock(known->pricing);
    if (auto at = known->priced.find(name); at != known->priced.end())
      return at->second;
  }
  // The formulas know one kind of devices: on several, all stages are as the one that needs most.
  auto slowest = std::max_element(solution.stages.begin(), solution.stages.end(),
                                  [](const auto &a, const auto &b) { return a.seconds < b.seconds; });
  size_t slow = size_t(slowest - solution.stages.begin());
  GraphPricer &of = kind(kindOf(solution, slow));
  SolvedStep solved = of.solvedStep(shape, solution);
  if (isMixed()) {
    auto most = solved.problem.stages[slow];
    solved.problem.stages.assign(solved.problem.stages.size(), most);
  }
  cost::StepSeconds seconds = cost::priceStep(solved.problem, of.machine.constants);
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
  std::lock_guard lock(known->pricing);
  known->priced.emplace(std::move(name), seconds);
  return seconds;
}

} // namespace dtcc::spmd
