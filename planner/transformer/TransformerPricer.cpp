//===- TransformerPricer.cpp - Shapes of a transformer's plan on a uniform cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/transformer/TransformerPricer.h"
#include "planner/parallelism/StateTable.h"
#include "planner/problem/StageBound.h"
#include "planner/schedule/StepSimulation.h"
#include "planner/transformer/Memory.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace dtcc::plan {

/// Types of blocks, which are the layers of a step in groups: a mode of a layer, the embedding, the head.
enum : uint32_t { kLayer, kEmbedding, kHead, kDense };

namespace {
struct LayerMode {
  Recompute recompute;
  bool onHost;
};
} // namespace
/// Modes of a layer. The second recomputes everything.
static constexpr LayerMode kModes[] = {
    {Recompute::None, false}, {Recompute::Full, false}, {Recompute::Selective, false}, {Recompute::None, true}};
static constexpr size_t kModeCount = std::size(kModes);
/// The mode in the place of one that is not allowed: the held one, if there is one.
static size_t allowedMode(const TransformerProblem &problem, size_t mode) {
  if (problem.recompute && kModes[mode].recompute != *problem.recompute)
    for (mode = 0; kModes[mode].recompute != *problem.recompute;)
      ++mode;
  return mode;
}
/// Indices of the layers in StepProblem.
static constexpr size_t kEmbeddingLayer = kModeCount, kHeadLayer = kModeCount + 1, kDenseLayers = kModeCount + 2;

ShapeSpace shapeSpaceOf(const TransformerProblem &problem) {
  ShapeSpace space;
  space.devices = problem.devices;
  space.batch = problem.batch;
  space.layers = int64_t(problem.model.layers);
  int64_t heads = int64_t(problem.model.heads), positions = int64_t(problem.model.sequence);
  space.tp.clear();
  space.cp.clear();
  space.pp.clear();
  space.ep.clear();
  for (int64_t size = 1; size <= problem.devices; ++size) {
    bool divides = problem.devices % size == 0;
    for (const DeviceKind &kind : problem.kinds)
      divides |= kind.devices % size == 0;
    if (!divides)
      continue;
    if (heads % size == 0 && size <= 2 * int64_t(problem.model.kvHeads))
      space.tp.push_back(size);
    // A ring of fewer than 1,024 positions a rank is all latency.
    if (size == 1 || (positions % size == 0 && positions / size >= 1024))
      space.cp.push_back(size);
    if (size <= space.layers)
      space.pp.push_back(size);
    if (size == 1 || (problem.model.experts > 0 && int64_t(problem.model.experts) % size == 0))
      space.ep.push_back(size);
  }
  space.expertsOverTensor = problem.model.experts > 0;
  for (const DeviceKind &kind : problem.kinds)
    space.kinds.push_back(kind.devices);
  if (problem.host.memoryBytes > 0)
    space.hostOptimizer = {false, true};
  return space;
}

ShapeSpace shapeSpaceOf(const TransformerProblem &problem, const ShapeSpace &given, const TransformerProblem &before) {
  ShapeSpace space = shapeSpaceOf(problem), wide = shapeSpaceOf(before);
  for (const SearchedAxis &axis : kSearchedAxes)
    if ((given.*axis.allowed).size() == 1 && (wide.*axis.allowed).size() > 1)
      space.*axis.allowed = given.*axis.allowed;
  space.zero = given.zero;
  space.hostOptimizer = given.hostOptimizer;
  space.schedules = given.schedules;
  space.virtualStages = given.virtualStages;
  space.microbatchSamples = given.microbatchSamples;
  return space;
}

/// Layers: one per mode, the embedding, the head; stages are not set.
cost::StepProblem TransformerPricer::stepOf(const Parallelism &shape, size_t kind) const {
  cost::StepProblem step;
  step.device = given.kinds.empty() ? given.device : given.kinds[kind].device;
  step.fabric = given.kinds.empty() ? given.fabric : given.kinds[kind].fabric;
  step.software = given.software;
  Parallelism &plan = step.parallel = shape;
  plan.sequenceParallel = shape.tp > 1;
  step.host = given.kinds.empty() ? given.host : given.kinds[kind].host;
  cost::RunSetting run = given.run;
  run.samples = double(given.batch) / double(shape.dp * shape.microbatches);
  auto addModes = [&](const cost::Transformer &model) {
    for (LayerMode mode : kModes) {
      plan.recompute = mode.recompute;
      step.layers.push_back(makeBlock(model, plan, run));
      if (mode.onHost)
        moveToHost(step.layers.back(), keptBytes(model, plan, run, given.software));
    }
    plan.recompute = Recompute::None;
  };
  addModes(given.model);
  step.layers.push_back(makeEmbedding(given.model, plan, run));
  step.layers.push_back(makeHead(given.model, plan, run));
  if (given.model.experts > 0)
    addModes(given.model.dense());
  step.setLeavingBytes(boundaryBytes(given.model, plan, run, given.software.scatteredSends));
  return step;
}

/// The first layer of each type of block.
static constexpr size_t kFirstLayer[] = {0, kEmbeddingLayer, kHeadLayer, kDenseLayers};

/// Type of each block: the embedding, layers with and without experts, the head.
static std::vector<uint32_t> blocksOf(const cost::Transformer &model) {
  std::vector<uint32_t> blocks = {kEmbedding};
  for (int64_t layer = 0; layer < int64_t(model.layers); ++layer)
    blocks.push_back(model.experts > 0 && !model.isExpertLayer(layer) ? kDense : kLayer);
  blocks.push_back(kHead);
  return blocks;
}

double TransformerPricer::hostBytesOf(const cost::StepProblem &step) const {
  const Parallelism &plan = step.parallel;
  if (!plan.offload.optimizer)
    return 0;
  cost::HeldParameters held;
  for (uint32_t block : blocksOf(given.model))
    held.add(step.layers[kFirstLayer[block]], 1 / double(plan.pp));
  return cost::hostBytes(held, plan, given.software);
}

/// Whether the host has room for what all layers of a device keep.
bool TransformerPricer::mayOffload(const cost::StepProblem &step, double inFlight, double kept) const {
  double most = std::ceil(given.model.layers / double(step.parallel.pp)) * inFlight * kept;
  return given.mayOffloadActivations && step.host.memoryBytes > 0 && cost::hasRoom(step.host, hostBytesOf(step), most);
}

/// The modes of the blocks on devices of one kind, and what a stage of mean size needs at the end.
void TransformerPricer::addModes(const Parallelism &shape, size_t kind, StageProblem &problem) const {
  cost::StepProblem step = stepOf(shape, kind);
  std::vector<cost::LayerSeconds> seconds = cost::priceLayers(step, constants);
  const Parallelism &plan = step.parallel;
  cost::RunSetting run = given.run;
  run.samples = double(given.batch) / double(shape.dp * shape.microbatches);
  double first = cost::microbatchesInFlight(plan.schedule, shape.pp, shape.virtualStages, shape.microbatches);
  auto addModes = [&](uint32_t type, const cost::Transformer &model) {
    std::vector<BlockMode> &modes = problem.types[type].modes.emplace_back();
    for (size_t number = 0; number < kModeCount; ++number) {
      size_t mode = allowedMode(given, number);
      Parallelism with = plan;
      with.recompute = kModes[mode].recompute;
      double kept = keptBytes(model, with, run, given.software);
      bool onHost = kModes[mode].onHost && mayOffload(step, first, kept);
      // A mode that is not allowed is priced like keeping everything.
      size_t priced = kFirstLayer[type] + (kModes[mode].onHost && !onHost ? 0 : mode);
      modes.push_back(onHost ? keptByHost(seconds[priced].total(), kept) : BlockMode{seconds[priced].total(), kept, 0});
    }
  };
  addModes(kLayer, given.model);
  if (problem.types.size() > kDense)
    addModes(kDense, given.model.dense());
  problem.types[kEmbedding].modes.push_back({{seconds[kEmbeddingLayer].total()}});
  problem.types[kHead].modes.push_back({{seconds[kHeadLayer].total()}});

  // The end of a step, of a stage of mean size, shared out by state.
  cost::HeldParameters mean;
  double state = 0, backward = 0;
  for (uint32_t block : problem.blocks) {
    mean.add(step.layers[kFirstLayer[block]], 1 / double(shape.pp));
    state += problem.types[block].stateBytes / double(shape.pp);
    const cost::LayerSeconds &layer = seconds[kFirstLayer[block]];
    if (block == kLayer || block == kDense)
      backward += (layer.total() - layer.forward) / double(shape.pp);
  }
  double tail = cost::secondsAtEnd(step, constants, mean, backward);
  double send = cost::secondsToSendOn(step, step.layers.front().leavingBytes, constants);
  const cost::BubbleShares bubble =
      shape.pp > 1 ? cost::bubbleSharesOf(shape.schedule, shape.virtualStages) : cost::BubbleShares();
  for (size_t number = 0; number < problem.types.size(); ++number) {
    BlockType &type = problem.types[number];
    type.sendSeconds = double(shape.microbatches) * send;
    type.filledSeconds = bubble.filled * seconds[kFirstLayer[number]].weightGradient;
    type.tailSeconds = state > 0 ? tail * type.stateBytes / state : 0;
  }

  double reserve = cost::reserveBytes(plan, given.software);
  double memory = (cost::usableBytes(step.device) - reserve) / (1 + given.software.fragments);
  // The host must hold what it is given.
  if (!cost::hasRoom(step.host, hostBytesOf(step)))
    memory = 0;
  int64_t stages = given.kinds.empty() ? shape.pp : given.kinds[kind].devices / (shape.tp * shape.cp * shape.dp);
  problem.classes.push_back({stages, std::max(memory, 0.0)});
  problem.ramp = bubble.all;
}

StageProblem TransformerPricer::problem(const Parallelism &shape) {
  StageProblem problem = problemOn(shape, 0);
  for (size_t kind = 1; kind < kinds(); ++kind)
    problem.addClasses(problemOn(shape, kind));
  return problem;
}

StageProblem TransformerPricer::problemOn(const Parallelism &shape, size_t kind) const {
  cost::StepProblem step = stepOf(shape, kind);
  const Parallelism &plan = step.parallel;
  cost::RunSetting run = given.run;
  run.samples = double(given.batch) / double(shape.dp * shape.microbatches);
  StageProblem problem;
  problem.blocks = blocksOf(given.model);
  bool hasDense = std::find(problem.blocks.begin(), problem.blocks.end(), uint32_t(kDense)) != problem.blocks.end();
  problem.types.resize(hasDense ? 4 : 3);
  for (size_t type = 0; type < problem.types.size(); ++type)
    problem.types[type].stateBytes = stateBytes(step.layers[kFirstLayer[type]], plan, given.software);
  addModes(shape, kind, problem);
  // A layer that computes its values again, or has them come back, has all of them while it runs; ZeRO 3 has
  // two gathered.
  auto addWorking = [&](uint32_t type, const cost::Transformer &model) {
    const cost::Layer &whole = step.layers[kFirstLayer[type]];
    problem.types[type].workingBytes =
        keptBytes(model, plan, run, given.software) +
        (stateRow(shape.zero).compute ? 2 * 2 * (whole.parameters + whole.expertParameters) : 0);
  };
  addWorking(kLayer, given.model);
  if (hasDense)
    addWorking(kDense, given.model.dense());
  problem.types[kHead].workingBytes = given.software.logitMemory * run.samples * given.model.sequence /
                                      double(shape.cp) * given.model.vocabulary / double(shape.tp);
  double first = cost::microbatchesInFlight(plan.schedule, shape.pp, shape.virtualStages, shape.microbatches);
  bool falls = cost::has(shape.schedule, cost::ScheduleRow::FewerLater);
  for (int64_t stage = 0; stage < shape.pp; ++stage)
    problem.inFlight.push_back(std::max(1.0, falls ? std::min(first, double(first) - double(stage)) : first));
  problem.rounds = std::max(0.0, double(shape.microbatches) - problem.ramp);
  return problem;
}

/// Modes that are not allowed are as fast and large as the one in their place.
StageSolution TransformerPricer::solve(const Parallelism &shape) {
  StageSolution solution = plan::solve(problem(shape));
  std::vector<uint32_t> types = blocksOf(given.model);
  for (size_t block = 0; block < solution.modes.size(); ++block)
    if (types[block] == kLayer || types[block] == kDense)
      solution.modes[block] = uint32_t(allowedMode(given, solution.modes[block]));
  return solution;
}

double TransformerPricer::bound(const Parallelism &shape) {
  StageProblem each = problem(shape);
  int64_t stages = 0;
  for (const DeviceClass &kind : each.classes)
    stages += kind.stages;
  return stages < shape.pp ? std::numeric_limits<double>::infinity() : quickBound(each);
}

double TransformerPricer::closerBound(const Parallelism &shape) { return closeBound(problem(shape)); }

cost::StepProblem TransformerPricer::stepOf(const Parallelism &shape, const StageSolution &solution) const {
  return stepOn(shape, solution, solution.stages[0].deviceClass);
}

cost::StepProblem TransformerPricer::stepOn(const Parallelism &shape, const StageSolution &solution,
                                            size_t kind) const {
  cost::StepProblem step = stepOf(shape, kind);
  size_t blocks = solution.modes.size();
  std::vector<uint32_t> types = blocksOf(given.model);
  for (size_t stage = 0; stage < solution.stages.size(); ++stage) {
    size_t end = stage + 1 < solution.stages.size() ? solution.stages[stage + 1].firstBlock : blocks;
    std::vector<double> counts(step.layers.size());
    for (size_t block = solution.stages[stage].firstBlock; block < end; ++block)
      ++counts[kFirstLayer[types[block]] + solution.modes[block]];
    std::vector<cost::StageLayer> layers;
    for (size_t layer = 0; layer < counts.size(); ++layer)
      if (counts[layer] > 0)
        layers.push_back({layer, counts[layer]});
    step.stages.push_back(std::move(layers));
  }
  if (recomputed(solution) > 0)
    step.parallel.recompute = Recompute::Full;
  return step;
}

llvm::Expected<cost::StepTimeline> TransformerPricer::simulateOn(const Parallelism &shape,
                                                                 const StageSolution &solution, bool record) const {
  if (given.kinds.empty())
    return simulate(stepOf(shape, solution), constants, {}, record);
  std::vector<SimulatedStep> steps;
  cost::StepProblem first = stepOn(shape, solution, 0);
  for (size_t kind = 0; kind < kinds(); ++kind)
    steps.push_back(simulatedStepOf(stepOn(shape, solution, kind), constants));
  std::vector<size_t> kindOfRank;
  for (const StageSolution::Stage &stage : solution.stages)
    kindOfRank.push_back(stage.deviceClass);
  llvm::Expected<Schedule> schedule = scheduleOf(first.parallel);
  if (!schedule)
    return schedule.takeError();
  return simulate(onKinds(steps, kindOfRank), *schedule, record);
}

/// The formulas know one kind: their parts are those of the stage that needs most, and what the simulation says
/// otherwise of the whole is waiting.
cost::StepSeconds TransformerPricer::priceMixed(const Parallelism &shape, const StageSolution &solution) const {
  auto slowest = std::max_element(solution.stages.begin(), solution.stages.end(),
                                  [](const auto &a, const auto &b) { return a.seconds < b.seconds; });
  cost::StepProblem step = stepOn(shape, solution, slowest->deviceClass);
  // All stages are as this one is.
  std::vector<cost::StageLayer> layers = step.stages[size_t(slowest - solution.stages.begin())];
  step.stages.assign(step.stages.size(), layers);
  cost::StepSeconds seconds = cost::priceStep(step, constants);
  llvm::Expected<cost::StepTimeline> timeline = simulateOn(shape, solution, /*record=*/false);
  if (timeline)
    seconds.bubble = std::max(0.0, seconds.bubble + timeline->seconds - seconds.total());
  else
    llvm::consumeError(timeline.takeError());
  return seconds;
}

cost::StepSeconds TransformerPricer::price(const Parallelism &shape, const StageSolution &solution,
                                           double below) const {
  if (!given.kinds.empty())
    return priceMixed(shape, solution);
  cost::StepProblem step = stepOf(shape, solution);
  cost::StepSeconds seconds = cost::priceStep(step, constants);
  if (seconds.total() >= below)
    return seconds;
  llvm::Expected<cost::StepTimeline> timeline = simulate(step, constants);
  if (!timeline) {
    llvm::consumeError(timeline.takeError());
    return seconds;
  }
  // The formulas hide what software hides in runs that were measured; what waits for what may not allow it.
  (shape.pp > 1 ? seconds.bubble : seconds.data) += std::max(0.0, timeline->seconds - seconds.total());
  return seconds;
}

std::optional<cost::StepTimeline> TransformerPricer::timeline(const Parallelism &shape, const StageSolution &solution,
                                                              bool record) {
  llvm::Expected<cost::StepTimeline> timeline = simulateOn(shape, solution, record);
  if (timeline)
    return std::move(*timeline);
  llvm::consumeError(timeline.takeError());
  return std::nullopt;
}

/// Layers whose mode is `mode`; the embedding and the head have but one.
static int64_t countOf(const StageSolution &solution, uint32_t mode) {
  return solution.isInfeasible() ? 0 : std::count(solution.modes.begin() + 1, solution.modes.end() - 1, mode);
}
bool TransformerPricer::recomputes(uint32_t mode) { return kModes[mode].recompute != Recompute::None; }
int64_t TransformerPricer::recomputed(const StageSolution &solution) const { return countOf(solution, 1); }
int64_t TransformerPricer::offloaded(const StageSolution &solution) const { return countOf(solution, 3); }

} // namespace dtcc::plan
