//===- SolvedStep.cpp - The step of a solved shape on one kind of devices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/SolvedStep.h"

using namespace mlir;

namespace dtcc::spmd {

using plan::Parallelism;

SolvedStep SolvedStep::of(const GraphFacts &facts, PlacementCache &placements, ShapeProblems &problems,
                          const Parallelism &shape, const plan::StageSolution &solution) {
  const PricedStep &local = placements.pricedFor(shape);
  const std::vector<BlockWork> &works = placements.worksOf(shape);
  SolvedStep solved;
  solved.problem = problems.stepOf(shape);
  solved.problem.layers = placements.layersOf(shape);
  size_t each = facts.modeCount(), count = solution.modes.size(), ranks = size_t(shape.pp);
  std::vector<size_t> firsts = problems.cutsOf(shape, solution);
  firsts.insert(firsts.begin(), 0);
  solved.once.resize(ranks);
  solved.exchanged.resize(ranks);
  std::vector<std::vector<double>> counts(ranks, std::vector<double>(solved.problem.layers.size()));
  for (size_t stage = 0; stage < firsts.size(); ++stage) {
    size_t end = stage + 1 < firsts.size() ? firsts[stage + 1] : count, rank = problems.rankOfStage(shape, stage);
    std::vector<size_t> layers;
    for (size_t block = firsts[stage]; block < end; ++block) {
      uint32_t type = facts.input.blocks.blocks()[block].type;
      layers.push_back(type * each + facts.pricedMode(uint32_t(type), solution.modes[block]));
      ++counts[rank][layers.back()];
      solved.once[rank] += local.once[type];
      solved.exchanged[rank] += works[type].once.exchangeSeconds;
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
  // Where no stage ends there is no message.
  std::vector<bool> ends(solved.problem.layers.size(), false);
  for (size_t stage = 0; stage + 1 < solved.layers.size(); ++stage)
    ends[solved.layers[stage].back()] = true;
  for (size_t layer = 0; layer < ends.size(); ++layer)
    if (!ends[layer])
      solved.problem.layers[layer].leavingBytes = 0;
  return solved;
}

plan::SimulatedStep SolvedStep::simulated(const GraphFacts &facts) const {
  plan::SimulatedStep step = plan::simulatedStepOf(problem, layers, facts.machine.constants);
  for (size_t rank = 0; rank < once.size(); ++rank)
    step.ends[rank].update += once[rank];
  return step;
}

} // namespace dtcc::spmd
