//===- GraphPricer.cpp - Shapes of a plan for a graph on a cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/dist/GraphPricer.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/cost/Memory.h"
#include "passes/dist/KnownPrices.h"
#include "passes/dist/StateTable.h"
#include "passes/plan/ShapeParallel.h"
#include <limits>

using namespace mlir;

namespace dtcc::dist {

using plan::PipelineSchedule;
using plan::PlanShape;

/// The runtime's own part of a processor's or device's memory.
static constexpr double kContextBytes = 512.0 * (1 << 20);

/// What the programs of this compiler do by themselves.
static cost::Software softwareFor(const cost::Machine &machine, bool narrow) {
  cost::Software software;
  software.host = cost::HostMode::Graph;
  software.fused = true;
  software.attention = cost::AttentionKernel::Tuned;
  software.gradientBytes = 4;
  software.gatherBytes = machine.isCpu() || !narrow ? 4 : 2;
  software.scatteredSends = false;
  software.keepsParameters = true;
  // Later micro-batches add to the sums of the first.
  software.accumulateBytes = 8;
  software.fragments = 0;
  // Ranks of a processor share its cores: nothing is hidden there.
  software.dataWindow = machine.isCpu() ? 0 : 0.5;
  return software;
}

static cost::Machine withHost(cost::Machine machine) {
  // No interpreter issues the kernels of a processor, and no clock of its own slows one rank.
  if (machine.isCpu())
    machine.constants.host = machine.constants.hostStep = machine.constants.hostMicrobatch =
        machine.constants.straggling = 0;
  return machine;
}

static bool isNarrow(func::FuncOp step) {
  bool narrow = false;
  step.walk([&](graph::ContractOp op) {
    narrow |= cast<ShapedType>(op->getOperand(0).getType()).getElementTypeBitWidth() == 16;
  });
  return narrow;
}

GraphPricer::GraphPricer(func::FuncOp step, const cost::Machine &machine, const GraphRequest &request,
                         size_t mostBlocks)
    : step(step), input(step, mostBlocks, request.pins), values(input.blocks), machine(withHost(machine)),
      software(softwareFor(machine, isNarrow(step))), request(request), known(std::make_unique<Known>(input, values)) {
  for (Type type : step.getArgumentTypes())
    if (auto shaped = cast<ShapedType>(type); shaped.getRank() > 0) {
      examples = shaped.getDimSize(0);
      break;
    }
  step.walk([&](graph::UpdateOp update) {
    slots = cast<graph::OptimizerAttrInterface>(update.getOptimizer()).getSlotNames().size();
  });
}

GraphPricer::~GraphPricer() = default;

LogicalResult GraphPricer::emitRefusal() {
  if (!refusal)
    return failure();
  step->getContext()->getDiagEngine().emit(std::move(*refusal));
  refusal.reset();
  return failure();
}

std::vector<plan::Recompute> GraphPricer::modes() const {
  if (request.recompute)
    return {*request.recompute};
  return {plan::Recompute::None, plan::Recompute::Selective, plan::Recompute::Full};
}

cost::StepProblem GraphPricer::stepOf(const PlanShape &shape, const Local &local) const {
  cost::StepProblem step = local.step;
  cost::Parallel &plan = step.parallel = plan::parallelOf(shape);
  // Local sizes know the experts of a rank already.
  plan.ep = 1;
  plan.shareGroup = shape.dp * shape.cp / request.groups;
  return step;
}

/// At the end of a step or at its beginning: what no input reaches, and the experts' gradients and update, whose
/// copies are fewer.
double GraphPricer::onceSeconds(const PlanShape &shape, const cost::StepProblem &step, const Local &local,
                                size_t type) const {
  double parameters = local.costs[type].expertParameters;
  if (parameters == 0)
    return local.once[type];
  cost::StepProblem experts = step;
  experts.parallel.dp = std::max<int64_t>(1, shape.dp / shape.ep);
  experts.parallel.shareGroup = std::max<int64_t>(1, shape.dp * shape.cp / request.groups / shape.ep);
  return local.once[type] + cost::secondsAtEnd(experts, machine.constants, {parameters, 0}, 0);
}

plan::MemoryParts GraphPricer::stateOf(const PlanShape &shape, const BlockCost &block) const {
  plan::MemoryParts parts;
  int64_t ranks = std::max<int64_t>(1, shape.dp * shape.cp / request.groups);
  // Elements that are read as they are stored, then those that have copies of two bytes.
  auto add = [&](double elements, double copy, int64_t sharing) {
    for (auto [count, narrow] : {std::pair(elements - copy / 2, 0.0), {copy / 2, copy}}) {
      if (count <= 0)
        continue;
      StateBytes bytes = stateBytes(shape.zero, 4 * count, slots, std::max<int64_t>(1, sharing), narrow);
      parts.parameters += bytes.parameters;
      parts.gradients += bytes.gradients;
      parts.optimizer += bytes.slots;
    }
  };
  double copied = shape.pp > 1 ? 1 : 0;
  add(block.parameters + copied * block.sharedParameters, block.copyBytes + copied * block.sharedCopyBytes, ranks);
  add(block.expertParameters, block.expertCopyBytes, ranks / shape.ep);
  parts.parameters += block.frozenBytes;
  return parts;
}

int64_t GraphPricer::stagesOf(const PlanShape &shape) const {
  return request.stages > 0 && shape.pp > 1 ? request.stages : shape.pp * shape.virtualStages;
}

double GraphPricer::usableBytes(const PlanShape &shape) const {
  double all = machine.memoryBytes();
  if (all <= 0)
    return 0;
  if (machine.isCpu())
    return all;
  double reserve = kContextBytes;
  for (int64_t ranks : {shape.tp, shape.cp, shape.dp, shape.pp})
    if (ranks > 1)
      reserve += cost::communicatorBytes(cost::spreadOf({ranks, 1}, machine.fabric.domain));
  return std::max(0.0, cost::usableBytes(all) - reserve);
}

/// Of a pipeline whose stages need `mean` for a micro-batch. Weight gradients fill the wait of zero-bubble schedules
/// where there are as many micro-batches as stages: with one, all of forward and input gradients is waited for.
static double bubbleOf(const PlanShape &shape, const cost::LayerSeconds &mean, int64_t stages) {
  double fills = std::min(1.0, double(shape.microbatches - 1) / double(shape.pp));
  bool apart = shape.schedule == PipelineSchedule::ZeroBubble;
  return cost::bubbleSeconds(plan::kindOf(shape.schedule), stages, shape.virtualStages, mean.forward,
                             mean.inputGradient + mean.recompute, (apart ? fills : 1) * mean.weightGradient);
}

/// Of ZeRO 2 and 3, while a block of the type runs: whole gradients of the units that are reduced, parameters of the
/// one at work and of the next. A layer is a unit: it has one block of each type of which there are as many.
double GraphPricer::unitBytes(const PlanShape &shape, const std::vector<BlockCost> &costs, size_t type) const {
  if (shape.zero < 2)
    return 0;
  auto unit = [&](size_t type) {
    std::pair<double, double> sums; // gradients, parameters as readers see them
    for (size_t other = 0; other < costs.size(); ++other) {
      const BlockCost &block = costs[other];
      if (other != type &&
          (input.blocks.countOf(type) == 1 || input.blocks.countOf(other) != input.blocks.countOf(type)))
        continue;
      double own = block.parameters + block.expertParameters + block.sharedParameters;
      double copies = block.copyBytes + block.expertCopyBytes + block.sharedCopyBytes;
      sums.second += copies > 0 ? copies : 4 * own;
      sums.first += 4 * (own - (shape.pp == 1 ? block.tiedParameters + block.sharedParameters : 0));
    }
    return sums;
  };
  std::pair<double, double> own = unit(type);
  double next = 0;
  for (size_t other = 0; other < costs.size(); ++other)
    if (input.blocks.countOf(other) > 1)
      next = std::max(next, unit(other).second);
  bool layer = input.blocks.countOf(type) > 1;
  return (layer ? 2 : 1) * own.first + (shape.zero == 3 ? own.second + next : 0);
}

/// What is computed again is there again while its block runs; it is counted unless all may be kept.
void GraphPricer::addAgain(plan::StageProblem &problem, const std::vector<BlockCost> &costs) const {
  /// Stages are cut by time, and one of them has more of the memory than the mean.
  constexpr double uneven = 1.25;
  std::vector<plan::Recompute> allowed = modes();
  double all = 0, working = 0;
  for (uint32_t type : problem.blocks) {
    const plan::BlockType &block = problem.types[type];
    all += block.stateBytes + block.modes[0].front().heldBytes * problem.inFlight.front();
    working = std::max(working, block.workingBytes);
  }
  double stages = double(problem.stages());
  if (allowed.front() == plan::Recompute::None &&
      (stages > 1 ? uneven : 1) * all / stages + working <= problem.classes[0].memoryBytes)
    return;
  for (size_t type = 0; type < costs.size(); ++type) {
    double most = 0;
    for (plan::Recompute mode : allowed)
      most = std::max(most, costs[type].againBytes[size_t(mode)]);
    problem.types[type].workingBytes += most;
  }
}

/// What waits of a block for each micro-batch that the first stage has in flight. ZB-H1 makes weight gradients a
/// stage's number of micro-batches behind the input gradients (Qi et al. 2023): stage s of p has p micro-batches of
/// what these read, p - s of what only input gradients read, and s + 1 of what input gradients leave for them. Between
/// the first and the last stage that is a line: counted is the end of it that has more.
static double heldBytes(const PlanShape &shape, const BlockCost &block, plan::Recompute mode) {
  double held = block.heldBytes[size_t(mode)];
  if (shape.schedule != PipelineSchedule::ZeroBubble || shape.pp == 1)
    return held;
  double most = double(std::min(shape.pp, shape.microbatches)), weights = block.weightBytes[size_t(mode)],
         left = block.leftBytes[size_t(mode)];
  return weights + std::max(held - weights + left / most, (held - weights) / most + left);
}

plan::StageProblem GraphPricer::problem(const PlanShape &shape) {
  const Local &local = localFor(shape);
  const std::vector<BlockCost> &costs = local.costs;
  cost::StepProblem step = stepOf(shape, local);
  std::vector<cost::LayerSeconds> seconds = local.passes[shape.zero == 3].price(step, machine.constants);
  std::vector<plan::Recompute> allowed = modes();
  const StepBlocks &row = input.blocks;

  plan::StageProblem problem;
  double parameters = 0, backward = 0;
  cost::LayerSeconds sum;
  for (size_t type = 0; type < costs.size(); ++type) {
    const BlockCost &block = costs[type];
    plan::BlockType each;
    each.modes.resize(1);
    for (auto [i, mode] : llvm::enumerate(allowed))
      each.modes[0].push_back({seconds[type * allowed.size() + i].total(), heldBytes(shape, block, mode)});
    each.stateBytes = stateOf(shape, block).total() + (shape.zero < 3 ? block.onceBytes : 0);
    // Logits that are there at once are gone when whole gradients of the classifier are made of theirs.
    double whole = shape.zero >= 2 ? 4 * (block.parameters + block.sharedParameters) : 0;
    double logits = std::max(block.logitBytes - whole, block.lateLogitBytes);
    each.workingBytes = block.workingBytes + logits + unitBytes(shape, costs, type);
    // Whole gradients of a parameter that the first and the last block read are there all the while between.
    if (shape.zero >= 2 && shape.pp == 1)
      for (plan::BlockMode &mode : each.modes[0])
        mode.heldBytes += 4 * block.sharedParameters;
    double count = double(row.countOf(type));
    parameters += block.parameters * count;
    const cost::LayerSeconds &kept = seconds[type * allowed.size()];
    sum.forward += kept.forward * count;
    sum.inputGradient += kept.inputGradient * count;
    sum.weightGradient += kept.weightGradient * count;
    backward += (kept.total() - kept.forward) * count;
    problem.types.push_back(std::move(each));
  }
  double tail =
      cost::secondsAtEnd(step, machine.constants, {parameters / double(shape.pp), 0}, backward / double(shape.pp));
  double send = cost::secondsToSendOn(step, machine.constants);
  for (size_t type = 0; type < costs.size(); ++type) {
    const BlockCost &block = costs[type];
    problem.types[type].sendSeconds = send;
    problem.types[type].tailSeconds = (parameters > 0 ? tail * block.parameters * double(shape.pp) / parameters : 0) +
                                      onceSeconds(shape, step, local, type);
  }
  for (const StepBlocks::Block &block : row.blocks())
    problem.blocks.push_back(block.type);
  double usable = request.anyMemory ? 0 : usableBytes(shape);
  problem.classes = {{shape.pp, usable > 0 || (!request.anyMemory && machine.memoryBytes() > 0)
                                    ? usable
                                    : std::numeric_limits<double>::max()}};
  double first =
      cost::microbatchesInFlight(plan::kindOf(shape.schedule), shape.pp, shape.virtualStages, shape.microbatches);
  bool falls = shape.schedule != PipelineSchedule::ZeroBubble && shape.schedule != PipelineSchedule::GPipe;
  if (request.stages > 0) {
    first = double(shape.microbatches);
    falls = false;
  }
  for (int64_t stage = 0; stage < shape.pp; ++stage)
    problem.inFlight.push_back(std::max(1.0, falls ? std::min(first, first - double(stage)) : first));
  double bubble = bubbleOf(shape, sum, 2);
  problem.ramp = shape.pp > 1 && sum.total() > 0 ? bubble / sum.total() : 1;
  problem.rounds = std::max(0.0, double(shape.microbatches) - problem.ramp);
  addAgain(problem, costs);
  return problem;
}

/// By the rules of plans (plan::Plan::check), which lowering goes by too: asked of a small plan of the same kind.
bool GraphPricer::isAllowed(const PlanShape &shape) {
  if (shape.pp == 1)
    return true;
  auto [at, isNew] = known->allowed.try_emplace({shape.zero, shape.schedule, shape.virtualStages});
  if (!isNew)
    return at->second;
  plan::Plan plan = plan::makeDefaultPlan(2, 2, 1, shape.zero);
  plan.mesh.axes.push_back({"pp", 2, false});
  plan::PipelinePlan pipeline{"pp", shape.scheduleName(), {}, {}};
  for (int64_t stage = 1; stage < 2 * shape.virtualStages; ++stage)
    pipeline.cuts.push_back(stage);
  plan.pipeline = std::move(pipeline);
  llvm::Error refused = plan.check();
  at->second = !refused;
  llvm::consumeError(std::move(refused));
  return at->second;
}

double GraphPricer::bound(const PlanShape &shape) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (!canBeCut(shape) || !placedFor(shape).possible)
    return never;
  plan::StageProblem each = problem(shape);
  double sum = 0, state = 0, tail = 0;
  for (uint32_t block : each.blocks) {
    const plan::BlockType &type = each.types[block];
    double least = never;
    for (const plan::BlockMode &mode : type.modes[0])
      least = std::min(least, mode.seconds);
    sum += least;
    state += type.stateBytes;
    tail += type.tailSeconds;
  }
  double stages = double(shape.pp);
  if (state > stages * each.classes[0].memoryBytes)
    return never;
  // The greatest load is at least the mean.
  sum += (stages - 1) * each.types[0].sendSeconds;
  return (each.rounds * sum + tail) / stages + each.ramp * sum;
}

plan::PlanReport GraphPricer::describe(const plan::ShapePlan &found) {
  plan::PlanReport report;
  report.shape = found.shape;
  report.parts = price(found.shape, found.stages);
  report.seconds = report.parts.total();
  plan::MemoryParts state;
  for (const BlockCost &block : costsOf(found.shape)) {
    plan::MemoryParts each = stateOf(found.shape, block);
    state.parameters += each.parameters + (found.shape.zero < 3 ? block.onceBytes : 0);
    state.gradients += each.gradients;
    state.optimizer += each.optimizer;
  }
  std::vector<plan::Recompute> allowed = modes();
  plan::describeStages(problem(found.shape), found.stages, state, report, uint32_t(allowed.size() - 1));
  double limit = usableBytes(found.shape);
  if (!machine.isCpu())
    report.memory.communicators = cost::usableBytes(machine.memoryBytes()) - limit;
  report.fits = machine.memoryBytes() <= 0 || report.memory.total() - report.memory.communicators <= limit;
  return report;
}

} // namespace dtcc::dist
