//===- TransformerPricer.cpp - Shapes of a transformer's plan on a uniform cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plan/TransformerPricer.h"
#include "passes/cost/Memory.h"
#include "passes/plan/StepSimulation.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dtcc::plan {

using cost::Recomputation;

/// Types of blocks, and the modes of a layer.
enum : uint32_t { kLayer, kEmbedding, kHead };
static constexpr Recomputation kModes[] = {Recomputation::None, Recomputation::Full};

ShapeSpace shapeSpaceOf(const TransformerProblem &problem) {
  ShapeSpace space;
  space.devices = problem.devices;
  space.batch = problem.batch;
  space.layers = int64_t(problem.model.layers);
  int64_t heads = int64_t(problem.model.heads), positions = int64_t(problem.model.sequence);
  space.tp.clear();
  space.cp.clear();
  space.pp.clear();
  for (int64_t size = 1; size <= problem.devices; ++size) {
    if (problem.devices % size)
      continue;
    if (heads % size == 0 && size <= 2 * int64_t(problem.model.kvHeads))
      space.tp.push_back(size);
    // A ring of fewer than 1,024 positions a rank is all latency.
    if (size == 1 || (positions % size == 0 && positions / size >= 1024))
      space.cp.push_back(size);
    if (size <= space.layers)
      space.pp.push_back(size);
  }
  return space;
}

ShapeSpace shapeSpaceOf(const TransformerProblem &problem, const ShapeSpace &given, const TransformerProblem &before) {
  ShapeSpace space = shapeSpaceOf(problem), wide = shapeSpaceOf(before);
  for (std::vector<int64_t> ShapeSpace::*axis : {&ShapeSpace::tp, &ShapeSpace::cp, &ShapeSpace::pp})
    if ((given.*axis).size() == 1 && (wide.*axis).size() > 1)
      space.*axis = given.*axis;
  space.zero = given.zero;
  return space;
}

static cost::PipelineKind kindOf(PipelineSchedule schedule) {
  switch (schedule) {
  case PipelineSchedule::None:
    return cost::PipelineKind::None;
  case PipelineSchedule::OneForwardOneBackward:
    return cost::PipelineKind::OneForwardOneBackward;
  case PipelineSchedule::Interleaved:
    return cost::PipelineKind::Interleaved;
  case PipelineSchedule::ZeroBubble:
    return cost::PipelineKind::ZeroBubble1;
  }
  return cost::PipelineKind::None;
}

/// Layers: one per mode, the embedding, the head; stages are not set.
cost::StepProblem TransformerPricer::stepOf(const PlanShape &shape) const {
  cost::StepProblem step;
  step.device = given.device;
  step.fabric = given.fabric;
  step.software = given.software;
  cost::Parallel &plan = step.parallel;
  plan.tp = shape.tp;
  plan.cp = shape.cp;
  plan.dp = shape.dp;
  plan.pp = shape.pp;
  plan.virtualStages = shape.virtualStages;
  plan.microbatches = shape.microbatches;
  plan.schedule = kindOf(shape.schedule);
  plan.zero = shape.zero;
  plan.sequenceParallel = shape.tp > 1;
  cost::RunSetting run = given.run;
  run.examples = double(given.batch) / double(shape.dp * shape.microbatches);
  for (Recomputation mode : kModes) {
    plan.recompute = mode;
    step.layers.push_back(makeBlock(given.model, plan, run));
  }
  plan.recompute = Recomputation::None;
  step.layers.push_back(makeEmbedding(given.model, plan, run));
  step.layers.push_back(makeHead(given.model, plan, run));
  step.boundaryBytes = boundaryBytes(given.model, plan, run, given.software.scatteredSends);
  return step;
}

/// What the schedule leaves of the wait for the first and the last micro-batch.
static double rampOf(const PlanShape &shape, const cost::LayerSeconds &layer) {
  double all = layer.forward + layer.inputGradient + layer.weightGradient;
  double bubble = cost::bubbleSeconds(kindOf(shape.schedule), 2, shape.virtualStages, layer.forward,
                                      layer.inputGradient, layer.weightGradient);
  return shape.pp > 1 && all > 0 ? bubble / all : 1;
}

StageProblem TransformerPricer::problem(const PlanShape &shape) {
  cost::StepProblem step = stepOf(shape);
  std::vector<cost::LayerSeconds> seconds = cost::priceLayers(step, constants);
  constexpr size_t modes = std::size(kModes), embedding = modes, head = modes + 1;
  const cost::Parallel &plan = step.parallel;
  cost::RunSetting run = given.run;
  run.examples = double(given.batch) / double(shape.dp * shape.microbatches);

  StageProblem problem;
  problem.types.resize(3);
  BlockType &layer = problem.types[kLayer];
  layer.modes.resize(1);
  for (size_t mode = 0; mode < modes; ++mode) {
    cost::Parallel with = plan;
    with.recompute = kModes[mode];
    layer.modes[0].push_back({seconds[mode].total(), keptBytes(given.model, with, run, given.software)});
  }
  problem.types[kEmbedding].modes = {{{seconds[embedding].total(), 0}}};
  problem.types[kHead].modes = {{{seconds[head].total(), 0}}};

  double perParameter = stateBytesPerParameter(plan, given.software), parameters = 0;
  for (size_t type = 0; type < 3; ++type) {
    double own = step.layers[type == kLayer ? 0 : type == kEmbedding ? embedding : head].parameters;
    problem.types[type].stateBytes = perParameter * own;
    parameters += own * (type == kLayer ? given.model.layers : 1);
  }
  // A layer that computes its values again has all of them while it runs; ZeRO 3 has two gathered.
  layer.workingBytes = layer.modes[0][0].heldBytes + (shape.zero == 3 ? 2 * 2 * step.layers[0].parameters : 0);
  problem.types[kHead].workingBytes = given.software.logitMemory * run.examples * given.model.sequence /
                                      double(shape.cp) * given.model.vocabulary / double(shape.tp);

  // The end of a step, of a stage of mean size, shared out by parameters.
  double backward = (seconds[0].total() - seconds[0].forward) * given.model.layers / double(shape.pp);
  double tail = cost::secondsAtEnd(step, constants, parameters / double(shape.pp), backward);
  double send = cost::secondsToSendOn(step, constants);
  for (BlockType &type : problem.types) {
    type.sendSeconds = send;
    type.tailSeconds = parameters > 0 ? tail * type.stateBytes / perParameter * double(shape.pp) / parameters : 0;
  }

  problem.blocks.assign(size_t(given.model.layers) + 2, kLayer);
  problem.blocks.front() = kEmbedding;
  problem.blocks.back() = kHead;
  double reserve = cost::reserveBytes(plan, given.software);
  double memory = (cost::usableBytes(given.device.memoryBytes) - reserve) / (1 + given.software.fragments);
  problem.classes = {{shape.pp, std::max(memory, 0.0)}};
  double first = cost::microbatchesInFlight(plan.schedule, shape.pp, shape.virtualStages, shape.microbatches);
  bool falls = shape.schedule != PipelineSchedule::ZeroBubble;
  for (int64_t stage = 0; stage < shape.pp; ++stage)
    problem.inFlight.push_back(std::max(1.0, falls ? std::min(first, double(first) - double(stage)) : first));
  problem.ramp = rampOf(shape, seconds[0]);
  problem.rounds = std::max(0.0, double(shape.microbatches) - problem.ramp);
  return problem;
}

double TransformerPricer::bound(const PlanShape &shape) {
  StageProblem each = problem(shape);
  double sum = 0, state = 0, tail = 0;
  for (uint32_t block : each.blocks) {
    const BlockType &type = each.types[block];
    double least = std::numeric_limits<double>::infinity();
    for (const BlockMode &mode : type.modes[0])
      least = std::min(least, mode.seconds);
    sum += least;
    state += type.stateBytes;
    tail += type.tailSeconds;
  }
  double stages = double(shape.pp);
  if (state > stages * each.classes[0].memoryBytes)
    return std::numeric_limits<double>::infinity();
  // The greatest load is at least the mean.
  sum += (stages - 1) * each.types[kLayer].sendSeconds;
  return (each.rounds * sum + tail) / stages + each.ramp * sum;
}

cost::StepProblem TransformerPricer::stepOf(const PlanShape &shape, const StageSolution &solution) const {
  cost::StepProblem step = stepOf(shape);
  size_t blocks = solution.modes.size();
  for (size_t stage = 0; stage < solution.stages.size(); ++stage) {
    size_t end = stage + 1 < solution.stages.size() ? solution.stages[stage + 1].firstBlock : blocks;
    std::vector<double> counts(step.layers.size());
    for (size_t block = solution.stages[stage].firstBlock; block < end; ++block)
      ++counts[block == 0 ? std::size(kModes) : block + 1 == blocks ? std::size(kModes) + 1 : solution.modes[block]];
    std::vector<cost::StageLayer> layers;
    for (size_t layer = 0; layer < counts.size(); ++layer)
      if (counts[layer] > 0)
        layers.push_back({layer, counts[layer]});
    step.stages.push_back(std::move(layers));
  }
  if (recomputed(solution) > 0)
    step.parallel.recompute = Recomputation::Full;
  return step;
}

cost::StepSeconds TransformerPricer::price(const PlanShape &shape, const StageSolution &solution) const {
  cost::StepProblem step = stepOf(shape, solution);
  cost::StepSeconds seconds = cost::priceStep(step, constants);
  llvm::Expected<cost::StepTimeline> timeline = simulate(step, constants);
  if (!timeline) {
    llvm::consumeError(timeline.takeError());
    return seconds;
  }
  // The formulas hide what software hides in runs that were measured; what waits for what may not allow it.
  (shape.pp > 1 ? seconds.bubble : seconds.data) += std::max(0.0, timeline->seconds - seconds.total());
  return seconds;
}

std::optional<cost::StepTimeline> TransformerPricer::timeline(const PlanShape &shape, const StageSolution &solution,
                                                              bool record) {
  llvm::Expected<cost::StepTimeline> timeline = simulate(stepOf(shape, solution), constants, {}, record);
  if (timeline)
    return std::move(*timeline);
  llvm::consumeError(timeline.takeError());
  return std::nullopt;
}

int64_t TransformerPricer::recomputed(const StageSolution &solution) const {
  return std::count(solution.modes.begin() + 1, solution.modes.end() - 1, 1u);
}

} // namespace dtcc::plan
