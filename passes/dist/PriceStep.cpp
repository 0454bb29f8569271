//===- PriceStep.cpp - The step of a solved shape, by formulas and event by event
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/dist/KnownPrices.h"
#include "passes/plan/StepSimulation.h"

using namespace mlir;

namespace dtcc::dist {

using plan::PlanShape;

/// The step with the blocks of each rank of the pipeline, and of each stage its layers in their order.
GraphPricer::SolvedStep GraphPricer::solvedStep(const PlanShape &shape, const plan::StageSolution &solution) {
  const Local &local = localFor(shape);
  SolvedStep solved;
  solved.problem = stepOf(shape, local);
  solved.problem.layers = local.layers;
  size_t each = modes().size(), count = solution.modes.size(), ranks = size_t(shape.pp);
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
      layers.push_back(type * each + solution.modes[block]);
      ++counts[rank][layers.back()];
      solved.once[rank] += onceSeconds(shape, solved.problem, local, type);
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

llvm::Expected<cost::StepTimeline> GraphPricer::simulate(const SolvedStep &solved, bool record) const {
  plan::SimulatedStep step = plan::simulatedStepOf(solved.problem, solved.layers, machine.constants);
  for (size_t rank = 0; rank < solved.once.size(); ++rank)
    step.ends[rank].update += solved.once[rank];
  if (request.actions.ranks.empty())
    return plan::simulate(step, solved.problem.parallel, record);
  if (std::string wrong = step.check(request.actions); !wrong.empty())
    return llvm::createStringError(wrong);
  return plan::simulate(step, request.actions, record);
}

std::optional<cost::StepTimeline> GraphPricer::timeline(const PlanShape &shape, const plan::StageSolution &solution,
                                                        bool record) {
  llvm::Expected<cost::StepTimeline> timeline = simulate(solvedStep(shape, solution), record);
  if (timeline)
    return std::move(*timeline);
  llvm::consumeError(timeline.takeError());
  return std::nullopt;
}

cost::StepSeconds GraphPricer::price(const PlanShape &shape, const plan::StageSolution &solution) {
  std::vector<size_t> key(solution.modes.begin(), solution.modes.end());
  for (const plan::StageSolution::Stage &stage : solution.stages)
    key.push_back(stage.firstBlock);
  std::pair name(shape.str(), std::move(key));
  {
    std::lock_guard lock(known->pricing);
    if (auto at = known->priced.find(name); at != known->priced.end())
      return at->second;
  }
  SolvedStep solved = solvedStep(shape, solution);
  cost::StepSeconds seconds = cost::priceStep(solved.problem, machine.constants);
  size_t longest = std::max_element(solved.once.begin(), solved.once.end()) - solved.once.begin();
  seconds.compute += solved.once[longest] - solved.exchanged[longest];
  seconds.tensor += solved.exchanged[longest];
  // The formulas hide what software hides in runs that were measured; what waits for what may not allow it.
  if (llvm::Expected<cost::StepTimeline> timeline = simulate(solved, /*record=*/false))
    (shape.pp > 1 ? seconds.bubble : seconds.data) += std::max(0.0, timeline->seconds - seconds.total());
  else
    llvm::consumeError(timeline.takeError());
  std::lock_guard lock(known->pricing);
  known->priced.emplace(std::move(name), seconds);
  return seconds;
}

} // namespace dtcc::dist
