//===- GraphPricer.cpp - Shapes of a plan for a graph on a cluster
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/GraphPricer.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/exec/Target.h"
#include "passes/spmd/layout/StateTable.h"
#include "planner/model/KnownPrices.h"
#include "planner/search/ShapeParallel.h"
#include "planner/step/HeldStages.h"
#include "planner/transformer/Memory.h"
#include "runtime/abi/GpuMemory.h"
#include "runtime/abi/GpuWorkspace.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

using namespace mlir;

namespace dtcc::spmd {

using plan::PipelineSchedule;
using plan::PlanShape;

/// Scratch memory of library operations, which a program of a GPU has all the time
/// (passes/exec/commands/ReserveWorkspace.cpp): that of products, or of attention, what others need is less.
static double scratchBytes(const cost::Machine &machine, const std::vector<BlockCost> &costs) {
  if (!exec::findTarget(machine.isCpu() ? "cpu" : "cuda")->plansWorkspace)
    return 0;
  double most = double(gpu_workspace::productBytes);
  for (const BlockCost &block : costs)
    most = std::max(most, block.scratchBytes);
  return most;
}

/// What the programs of this compiler do by themselves.
static cost::Software softwareFor(const cost::Machine &machine, bool narrow) {
  cost::Software software;
  software.host = cost::HostMode::Commands;
  software.fused = true;
  software.attention = cost::AttentionKernel::Tuned;
  software.gradientBytes = 4;
  software.gatherBytes = machine.isCpu() || !narrow ? 4 : 2;
  software.scatteredSends = false;
  software.keepsParameters = true;
  // Later micro-batches add to the sums of the first: products of GPUs in passing, as those of Megatron-LM, for whose
  // runs nothing was to be added.
  software.accumulateBytes = machine.isCpu() ? 8 : 0;
  software.fragments = 0;
  // Ranks of a processor share its cores: nothing is hidden there.
  software.dataWindow = machine.isCpu() ? 0 : 0.5;
  software.reducesByStage = !machine.isCpu();
  return software;
}

static cost::Machine withStragglers(cost::Machine machine) {
  // No clock of its own slows one rank of a processor.
  if (machine.isCpu())
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

GraphPricer::GraphPricer(func::FuncOp step, llvm::ArrayRef<cost::Machine> kinds, const GraphRequest &request,
                         size_t mostBlocks)
    : step(step), input(step, mostBlocks, request.pins, request.given.get()), values(input.blocks),
      machine(withStragglers(kinds.front())), own(machine.ranks), software(softwareFor(machine, isNarrow(step))),
      request(request), known(std::make_unique<Known>(input, values)) {
  for (Type type : step.getArgumentTypes())
    if (auto shaped = cast<ShapedType>(type); shaped.getRank() > 0) {
      examples = shaped.getDimSize(0);
      break;
    }
  step.walk([&](graph::UpdateOp update) {
    slots = cast<graph::OptimizerAttrInterface>(update.getOptimizer()).getSlotNames().size();
  });
  step.walk([&](graph::BatchNormOp) { statistics = true; });
  // What a host is given: slots, and masters where readers see something narrower, in f32.
  software.sharedBytes = 4 * double((isNarrow(step) ? 1 : 0) + slots);
  begins = request.given ? blocksOfCuts(input.blocks, request.given->cuts)
                         : blocksOfStages(input.blocks, request.nodeStages);
  if (request.given)
    findGivenOnHost();
  for (const cost::Machine &other : kinds.drop_front()) {
    others.push_back(std::make_unique<GraphPricer>(step, other, request, mostBlocks));
    others.back()->first = this;
    machine.ranks += other.ranks;
  }
  for (const std::unique_ptr<GraphPricer> &other : others)
    other->machine.ranks = machine.ranks;
}

GraphPricer::~GraphPricer() = default;

void GraphPricer::findGivenOnHost() {
  givenOnHost.resize(input.blocks.types());
  llvm::DenseSet<int64_t> origins;
  for (const plan::OpPlan &op : request.given->ops)
    if (op.onHost && offloads())
      origins.insert(op.origin);
  for (Operation &op : step.front())
    if (std::optional<uint32_t> block = input.blocks.blockOf(&op))
      if (std::optional<int64_t> origin = graph::getOrigin(&op); origin && origins.contains(*origin))
        givenOnHost[input.blocks.blocks()[*block].type] = true;
}

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

bool GraphPricer::offloads() const { return request.mayOffloadActivations && machine.host.memoryBytes > 0; }

cost::StepProblem GraphPricer::stepOf(const PlanShape &shape, const Local &local) const {
  cost::StepProblem step = local.step;
  cost::Parallel &plan = step.parallel = plan::parallelOf(shape);
  plan.shareGroup = shape.dp * shape.cp / request.groups;
  step.host = machine.host;
  // Actions of a file are on stages of which the formulas do not know: by these the last has reductions beside it.
  if (request.stages > 0 && shape.pp > 1)
    step.software.dataWindow /= double(stagesOf(shape)) / double(shape.pp);
  return step;
}

plan::MemoryParts GraphPricer::stateOf(const PlanShape &shape, const BlockCost &block) const {
  plan::MemoryParts parts;
  int64_t ranks = std::max<int64_t>(1, shape.dp * shape.cp / request.groups);
  // Elements that are read as they are stored, then those that have copies of two bytes.
  auto add = [&](double elements, double copy, int64_t sharing) {
    // What nobody shares is stored as under stage 0 (Buckets.h): a copy that is not gathered is kept.
    const int64_t shared = std::max<int64_t>(1, sharing), stage = shared > 1 ? shape.zero : 0;
    for (auto [count, narrow] : {std::pair(elements - copy / 2, 0.0), {copy / 2, copy}}) {
      if (count <= 0)
        continue;
      StateBytes bytes = stateBytes(stage, 4 * count, slots, shared, narrow);
      parts.gradients += bytes.gradients;
      if (shape.hostOptimizer) {
        // Slots are the host's, and masters beside what readers see, which stays: in shares where it is gathered.
        double seen = narrow > 0 ? narrow : 4 * count;
        parts.parameters += stateRow(stage).compute ? seen / double(shared) : seen;
        parts.host += bytes.slots + (narrow > 0 ? 4 * count / double(stateRow(stage).master ? shared : 1) : 0);
        continue;
      }
      parts.parameters += bytes.parameters;
      parts.optimizer += bytes.slots;
    }
  };
  double copied = shape.pp > 1 ? 1 : 0;
  add(block.parameters + copied * block.sharedParameters, block.copyBytes + copied * block.sharedCopyBytes, ranks);
  add(block.expertParameters, block.expertCopyBytes, ranks / shape.ep);
  parts.parameters += block.frozenBytes;
  return parts;
}

double GraphPricer::onceBytes(const PlanShape &shape, const BlockCost &block) {
  return (shape.zero < 3 ? block.onceBytes : 0) + (bringsAtOnce(shape) ? block.broughtBytes : 0);
}

int64_t GraphPricer::stagesOf(const PlanShape &shape) const {
  return request.stages > 0 && shape.pp > 1 ? request.stages : shape.pp * shape.virtualStages;
}

/// A mesh has an axis for the ranks of cp, for those of ep, and for the other copies. If parameters are shared over one
/// of them alone, that is the group over which keys and values, rows of experts or statistics of the batch go.
double GraphPricer::separateBytes(const PlanShape &shape) const {
  const int64_t copies = shape.meshDp(), experts = shape.dp / copies;
  const bool exchanges = copies == 1 ? (experts > 1) != (shape.cp > 1)
                                     : experts == 1 && shape.cp == 1 && request.groups == 1 && statistics;
  if (!exchanges || machine.isCpu())
    return 0;
  return cost::communicatorBytes(cost::spreadOf({shape.dp * shape.cp, shape.tp}, machine.fabric.domain));
}

double GraphPricer::usableBytes(const PlanShape &shape, double separate) const {
  double all = machine.memoryBytes();
  if (all <= 0)
    return 0;
  if (machine.isCpu())
    return all;
  double reserve = double(gpu_memory::contextBytes) + separate;
  // Stages sum what they report.
  int64_t domain = machine.fabric.domain, axes = 0, stride = shape.tp * shape.cp * shape.dp;
  for (auto [ranks, step] : {std::pair(shape.tp, int64_t{1}), {shape.cp, 1}, {shape.dp, 1}, {shape.pp, stride}})
    if (ranks > 1) {
      reserve += cost::communicatorBytes(cost::spreadOf({ranks, step}, domain));
      ++axes;
    }
  // The norm of gradients is summed over all.
  if (axes > 1)
    reserve += cost::communicatorBytes(cost::spreadOf({shape.ranks(), 1}, domain));
  // Stages send to those before and behind, experts' ranks to each other.
  reserve += cost::messageBytes(cost::spreadOf({shape.pp, stride}, domain), std::min<int64_t>(shape.pp - 1, 2));
  reserve += cost::peerBytes(cost::spreadOf({shape.ep, shape.tp}, domain), shape.ep - 1);
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

/// Stages are cut by time, and one of them has more of the memory than the mean.
static constexpr double kUneven = 1.25;

double GraphPricer::leftAtStage(const PlanShape &shape, const BlockCost &block, plan::Recompute mode, int64_t stage) {
  return std::min(double(stage) + 1, double(shape.microbatches)) * block.leftBytes[size_t(mode)];
}

double GraphPricer::heldAtStage(const PlanShape &shape, const BlockCost &block, plan::Recompute mode, int64_t stage) {
  double held = block.heldBytes[size_t(mode)], weights = block.weightBytes[size_t(mode)];
  double most = double(shape.microbatches), stages = double(shape.pp);
  return std::min(stages, most) * weights + std::min(stages - double(stage), most) * (held - weights) +
         leftAtStage(shape, block, mode, stage);
}

/// What waits of a block for each micro-batch that the first stage has in flight. Of zero-bubble schedules between the
/// first and the last stage that is a line: counted is the end of it that has more, and what is less than that in other
/// stages is as if these had fewer micro-batches in flight (addStages).
static double heldBytes(const PlanShape &shape, const BlockCost &block, plan::Recompute mode) {
  if (!GraphPricer::hasWeightsApart(shape))
    return block.heldBytes[size_t(mode)];
  return std::max(GraphPricer::heldAtStage(shape, block, mode, 0),
                  GraphPricer::heldAtStage(shape, block, mode, shape.pp - 1)) /
         double(std::min(shape.pp, shape.microbatches));
}

/// Of the optimizer's state, with the host of a device of a stage of mean size.
double GraphPricer::hostOptimizerBytes(const PlanShape &shape, const cost::StepProblem &step,
                                       const std::vector<BlockCost> &costs) const {
  double bytes = 0;
  if (shape.hostOptimizer)
    for (size_t type = 0; type < costs.size(); ++type)
      bytes += stateOf(shape, costs[type]).host * double(input.blocks.countOf(type)) / double(shape.pp);
  return bytes;
}

/// Has the host room for what the blocks of a stage keep?
bool GraphPricer::mayOffload(const PlanShape &shape, const cost::StepProblem &step, const std::vector<BlockCost> &costs,
                             double inFlight) const {
  if (!offloads())
    return false;
  // What must lie there may be computed again as far as it can.
  plan::Recompute mode = mustOffload() ? modes().back() : modes().front();
  double kept = 0;
  for (size_t type = 0; type < costs.size(); ++type)
    kept += inFlight * heldBytes(shape, costs[type], mode) * double(input.blocks.countOf(type));
  return cost::hasRoom(step.host, hostOptimizerBytes(shape, step, costs),
                       (shape.pp > 1 ? kUneven : 1) * kept / double(shape.pp));
}

/// Of what heldBytes counts, what blocks hold at a stage, in the mode in which they hold most of that.
double GraphPricer::shareOfHeld(const PlanShape &shape, const std::vector<BlockCost> &costs, int64_t stage) const {
  double share = 0;
  for (plan::Recompute mode : modes()) {
    double own = 0, most = 0;
    for (size_t type = 0; type < costs.size(); ++type) {
      double count = double(input.blocks.countOf(type));
      own += count * heldAtStage(shape, costs[type], mode, stage);
      most += count * heldBytes(shape, costs[type], mode) * double(std::min(shape.pp, shape.microbatches));
    }
    share = std::max(share, most > 0 ? own / most : 1);
  }
  return share;
}

plan::StageProblem GraphPricer::problem(const PlanShape &shape) {
  plan::StageProblem problem = problemOn(shape);
  for (const std::unique_ptr<GraphPricer> &other : others)
    problem.addClasses(other->problemOn(shape));
  return problem;
}

void GraphPricer::addTurn(const std::vector<BlockCost> &costs, plan::StageProblem &problem) {
  for (size_t number = 0; number < problem.blocks.size(); ++number) {
    uint32_t last = problem.blocks[number];
    if (costs[last].logitBytes <= 0)
      continue;
    // A layer has one block of each kind.
    llvm::SmallSetVector<uint32_t, 4> layer;
    for (size_t before = number; before > 0 && problem.blocks[before - 1] != last; --before)
      if (!layer.insert(problem.blocks[before - 1]))
        break;
    for (size_t mode = 0; mode < problem.types[last].modes[0].size(); ++mode) {
      double moved = 0;
      for (uint32_t type : layer)
        moved += problem.types[type].modes[0][mode].hostBytes;
      for (uint32_t type : layer)
        if (plan::BlockMode &own = problem.types[type].modes[0][mode]; own.hostBytes > 0)
          own.workingBytes =
              std::max(own.workingBytes, problem.types[last].workingBytes + moved - problem.types[type].workingBytes);
    }
  }
}

plan::StageProblem GraphPricer::problemOn(const PlanShape &shape) {
  const Local &local = localFor(shape);
  const std::vector<BlockCost> &costs = local.costs;
  cost::StepProblem step = stepOf(shape, local);
  std::vector<cost::LayerSeconds> seconds = local.passes[shape.zero == 3].price(step, machine.constants);
  std::vector<plan::Recompute> allowed = modes();
  size_t each = modeCount();
  const StepBlocks &row = input.blocks;
  double inFlight = request.stages > 0 ? double(shape.microbatches)
                                       : cost::microbatchesInFlight(plan::kindOf(shape.schedule), shape.pp,
                                                                    shape.virtualStages, shape.microbatches);
  bool onHost = mayOffload(shape, step, costs, inFlight);

  plan::StageProblem problem;
  double parameters = 0, backward = 0;
  cost::LayerSeconds sum;
  for (size_t type = 0; type < costs.size(); ++type) {
    const BlockCost &block = costs[type];
    plan::BlockType blocks;
    blocks.modes.resize(1);
    std::vector<plan::BlockMode> &modes = blocks.modes[0];
    // With one micro-batch.
    auto brought = [&](plan::Recompute mode) { return bringsAtOnce(shape) ? 0 : block.broughtHeldBytes[size_t(mode)]; };
    double working = std::numeric_limits<double>::max();
    for (plan::Recompute mode : allowed)
      working = std::min(working, block.workingBytes[size_t(mode)]);
    for (uint32_t number = 0; number < each; ++number) {
      bool moves = request.given ? givenOnHost[type] : isOnHost(number) && (onHost || mustOffload());
      if (isOnHost(number) && !moves) {
        modes.push_back(modes.front());
        continue;
      }
      plan::Recompute mode = recomputeOf(number);
      size_t priced = pricedMode(uint32_t(type), number);
      double held = block.heldBytes[size_t(mode)], time = seconds[type * each + priced].total();
      modes.push_back(moves ? plan::keptByHost(time, held) : plan::BlockMode{time, heldBytes(shape, block, mode), 0});
      // Input gradients leave gradients.
      modes.back().heldBytes += brought(mode) + (moves && hasWeightsApart(shape) ? block.leftBytes[size_t(mode)] : 0);
      // What comes back is there while the block runs.
      modes.back().workingBytes = block.workingBytes[size_t(mode)] - working + (moves ? held : 0);
    }
    blocks.stateBytes = stateOf(shape, block).total() + onceBytes(shape, block);
    // Logits that are there at once are gone when whole gradients of the classifier are made of theirs.
    double whole = shape.zero >= 2 ? 4 * (block.parameters + block.sharedParameters) : 0;
    double logits = std::max(block.logitBytes - whole, block.lateLogitBytes);
    blocks.workingBytes = working + logits + unitBytes(shape, costs, type) + scratchBytes(machine, costs);
    // Whole gradients of a parameter that the first and the last block read are there all the while between.
    if (shape.zero >= 2 && shape.pp == 1)
      for (plan::BlockMode &mode : modes)
        mode.heldBytes += 4 * block.sharedParameters;
    double count = double(row.countOf(type));
    parameters += block.parameters * count;
    const cost::LayerSeconds &kept = seconds[type * each];
    sum.forward += kept.forward * count;
    sum.inputGradient += kept.inputGradient * count;
    sum.weightGradient += kept.weightGradient * count;
    backward += (kept.total() - kept.forward) * count;
    problem.types.push_back(std::move(blocks));
  }
  double tail =
      cost::secondsAtEnd(step, machine.constants, {parameters / double(shape.pp), 0}, backward / double(shape.pp));
  double send = cost::secondsToSendOn(step, machine.constants);
  for (size_t type = 0; type < costs.size(); ++type) {
    const BlockCost &block = costs[type];
    problem.types[type].sendSeconds = send;
    problem.types[type].tailSeconds =
        (parameters > 0 ? tail * block.parameters * double(shape.pp) / parameters : 0) + local.once[type];
    // The experts' copies are fewer.
    if (block.expertParameters > 0)
      problem.types[type].tailSeconds +=
          cost::secondsAtEnd(step, machine.constants, {0, block.expertParameters}, /*backward=*/0);
  }
  for (const StepBlocks::Block &block : row.blocks())
    problem.blocks.push_back(block.type);
  if (shape.pp == 1)
    addTurn(costs, problem);
  // Of several stages on a rank the problem knows the ranks alone; where these are cut is said by cutsOf.
  if (int64_t(begins.size()) == shape.pp && !hasVirtualStages(shape))
    problem.begins = begins;
  double usable = request.anyMemory ? 0 : usableBytes(shape);
  int64_t stages = isMixed() || first ? own / (shape.tp * shape.cp * shape.dp) : shape.pp;
  problem.classes = {{stages, usable > 0 || (!request.anyMemory && machine.memoryBytes() > 0)
                                  ? usable
                                  : std::numeric_limits<double>::max()}};
  // The host must hold what it is given.
  if (!request.anyMemory &&
      (!cost::hasRoom(step.host, hostOptimizerBytes(shape, step, costs)) || (mustOffload() && !onHost)))
    problem.classes[0].memoryBytes = 0;
  bool falls = request.stages == 0 && shape.schedule != PipelineSchedule::ZeroBubble &&
               shape.schedule != PipelineSchedule::GPipe;
  for (int64_t stage = 0; stage < shape.pp; ++stage)
    problem.inFlight.push_back(std::max(1.0, falls ? std::min(inFlight, inFlight - double(stage)) : inFlight));
  if (hasWeightsApart(shape) && request.stages == 0)
    for (int64_t stage = 0; stage < shape.pp; ++stage)
      problem.inFlight[stage] *= shareOfHeld(shape, costs, stage);
  if (hasVirtualStages(shape) && request.stages == 0) {
    // Stages of a rank that are alike, each with its own number of them.
    const std::vector<int64_t> &flights = flightsOf(shape);
    for (int64_t rank = 0; rank < shape.pp; ++rank) {
      problem.inFlight[rank] = 0;
      for (size_t stage = rank; stage < flights.size(); stage += shape.pp)
        problem.inFlight[rank] += double(flights[stage]) / double(shape.virtualStages);
    }
  }
  double bubble = bubbleOf(shape, sum, 2);
  problem.ramp = shape.pp > 1 && sum.total() > 0 ? bubble / sum.total() : 1;
  problem.rounds = std::max(0.0, double(shape.microbatches) - problem.ramp);
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
  int64_t stages = 0;
  for (const plan::DeviceClass &kind : each.classes)
    stages += kind.stages;
  return stages < shape.pp ? never : plan::quickBound(each);
}

plan::PlanReport GraphPricer::describe(const plan::ShapePlan &found) {
  plan::PlanReport report;
  report.shape = found.shape;
  report.parts = price(found.shape, found.stages);
  report.seconds = report.parts.total();
  plan::MemoryParts state;
  for (const BlockCost &block : costsOf(found.shape)) {
    plan::MemoryParts each = stateOf(found.shape, block);
    state.parameters += each.parameters;
    state.gradients += each.gradients;
    state.optimizer += each.optimizer;
    state.host += each.host;
  }
  std::vector<plan::Recompute> allowed = modes();
  plan::StageProblem solved = problem(found.shape);
  plan::describeStages(solved, found.stages, state, report, uint32_t(allowed.size() - 1));
  if (!isMixed()) {
    report.memory = {};
    for (auto [stage, memory] : llvm::zip_equal(report.stages, memoryByRank(found.shape, solved, found.stages))) {
      stage.memory = memory;
      if (memory.total() > report.memory.total())
        report.memory = memory;
    }
  }
  double limit = usableBytes(found.shape);
  if (!machine.isCpu())
    report.memory.communicators = cost::usableBytes(machine.memoryBytes()) - limit;
  report.separateBytes = separateBytes(found.shape);
  report.fits = machine.memoryBytes() <= 0 || report.memory.total() - report.memory.communicators <= limit;
  if (isMixed()) {
    report.fits = true;
    for (auto [stage, memory] : llvm::zip_equal(found.stages.stages, report.stages)) {
      double usable = kind(stage.deviceClass).usableBytes(found.shape);
      report.fits &= memory.memory.total() <= usable;
    }
  }
  const cost::HostSide &host = machine.host;
  double room = host.memoryBytes + (host.nvmeBytesPerSecond > 0 ? host.nvmeBytes : 0);
  report.hostLack = std::max(0.0, report.memory.host - room);
  report.fits &= report.hostLack == 0;
  return report;
}

std::string GraphPricer::stagesText(const plan::StageSolution &solution) const {
  std::string text;
  for (const plan::StageSolution::Stage &stage : solution.stages)
    text +=
        (text.empty() ? "" : ", ") + (stage.deviceClass ? *others[stage.deviceClass - 1] : *this).machine.device.name;
  return text;
}

} // namespace dtcc::spmd
