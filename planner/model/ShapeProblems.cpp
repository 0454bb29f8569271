//===- ShapeProblems.cpp - The stage problem of a shape on one kind of devices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/ShapeProblems.h"
#include "passes/exec/Target.h"
#include "planner/parallelism/StateTable.h"
#include "planner/problem/EvenRuns.h"
#include "planner/transformer/Memory.h"
#include "runtime/abi/GpuWorkspace.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"
#include <limits>
#include <tuple>

using namespace mlir;

namespace dtcc::spmd {

using plan::Parallelism;

/// Scratch memory of library operations, which a program of a GPU has all the time
/// (passes/exec/commands/ReserveWorkspace.cpp): that of products, or of attention, what others need is less.
static double scratchBytes(const cost::Machine &machine, const std::vector<BlockMemory> &memories) {
  if (!exec::findTarget(machine.isCpu() ? "cpu" : "cuda")->plansWorkspace)
    return 0;
  double most = double(gpu_workspace::productBytes);
  for (const BlockMemory &block : memories)
    most = std::max(most, block.scratchBytes);
  return most;
}

/// Whether a plan may have the schedule under a stage of ZeRO, by the rules of plans (plan::Plan::check), which
/// lowering obeys too.
static bool canBePlanned(int zero, plan::PipelineKind schedule) {
  const int64_t virtualStages = cost::has(schedule, cost::ScheduleRow::SeveralStages) ? 2 : 1;
  Parallelism small;
  small.dp = small.pp = small.microbatches = 2;
  small.zero = zero;
  small.schedule = schedule;
  small.virtualStages = virtualStages;
  plan::Plan plan = plan::makeDefaultPlan(small);
  for (int64_t stage = 1; stage < small.pp * virtualStages; ++stage)
    plan.pipeline->cuts.push_back(stage);
  llvm::Error refused = plan.check();
  const bool result = !refused;
  llvm::consumeError(std::move(refused));
  return result;
}

ShapeProblems::ShapeProblems(const GraphFacts &facts, PlacementCache &placements)
    : facts(facts), placements(placements) {
  for (plan::PipelineKind schedule : cost::programSchedules())
    for (int zero : {0, 1, 2, 3})
      if (canBePlanned(zero, schedule))
        allowed.insert({zero, schedule});
}

cost::StepProblem ShapeProblems::stepOf(const Parallelism &shape) const {
  cost::StepProblem step = facts.emptyStep();
  step.parallel = shape;
  step.host = facts.machine.host;
  // Actions of a file are on stages of which the formulas do not know: by these the last has reductions beside it.
  if (facts.request.stages > 0 && shape.pp > 1)
    step.software.dataWindow /= double(facts.stagesOf(shape)) / double(shape.pp);
  return step;
}

bool ShapeProblems::hasEarlyUpdates(const Parallelism &shape) const {
  return facts.updatesEarly && shape.pp == 1 && shape.microbatches == 1;
}

bool ShapeProblems::freesGradients(const Parallelism &shape) const {
  return plan::stateRow(shape.zero).gradient || hasEarlyUpdates(shape);
}

plan::MemoryParts ShapeProblems::stateOf(const Parallelism &shape, const BlockMemory &block) const {
  plan::MemoryParts parts;
  int64_t ranks = shape.shareGroup().ranks;
  // Elements that are read as they are stored, then those that have copies of two bytes.
  auto add = [&](double elements, double copy, int64_t sharing) {
    // State that nobody shares is stored as under stage 0 (Buckets.h): a copy that is not gathered is kept.
    const int64_t shared = std::max<int64_t>(1, sharing), stage = shared > 1 ? shape.zero : 0;
    for (auto [count, narrow] : {std::pair(elements - copy / 2, 0.0), {copy / 2, copy}}) {
      if (count <= 0)
        continue;
      plan::StateBytes bytes = plan::stateBytes(stage, 4 * count, facts.slots, shared, narrow, shape.gradients);
      parts.gradients += hasEarlyUpdates(shape) ? 0 : bytes.gradients;
      if (shape.offload.optimizer) {
        // Slots are the host's, and masters beside what readers see, which stays: in shares where it is gathered.
        double seen = narrow > 0 ? narrow : 4 * count;
        parts.parameters += plan::stateRow(stage).compute ? seen / double(shared) : seen;
        parts.host += bytes.slots + (narrow > 0 ? 4 * count / double(plan::stateRow(stage).master ? shared : 1) : 0);
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

/// Bytes of a block that are there all the time beside its state.
static double onceBytes(const Parallelism &shape, const BlockMemory &block) {
  return (plan::stateRow(shape.zero).compute ? 0 : block.onceBytes) + (bringsAtOnce(shape) ? block.broughtBytes : 0);
}

/// Bytes of units while a block of the type runs: under ZeRO 2 and 3 whole gradients of the units that are reduced, and
/// parameters of the unit at work and of the next; else, if updates are early, gradients of the unit at work. A layer
/// is a unit: it has one block of each type of which there are as many.
double ShapeProblems::unitBytes(const Parallelism &shape, const std::vector<BlockMemory> &memories, size_t type) const {
  const plan::StateRow &row = plan::stateRow(shape.zero);
  if (!freesGradients(shape))
    return 0;
  auto unit = [&](size_t type) {
    std::pair<double, double> sums; // gradients, parameters as readers see them
    for (size_t other = 0; other < memories.size(); ++other) {
      const BlockMemory &block = memories[other];
      if (other != type && (facts.input.blocks.countOf(type) == 1 ||
                            facts.input.blocks.countOf(other) != facts.input.blocks.countOf(type)))
        continue;
      double own = block.parameters + block.expertParameters + block.sharedParameters;
      double copies = block.copyBytes + block.expertCopyBytes + block.sharedCopyBytes;
      sums.second += copies > 0 ? copies : 4 * own;
      sums.first +=
          plan::bytesOf(shape.gradients) * (own - (shape.pp == 1 ? block.tiedParameters + block.sharedParameters : 0));
    }
    return sums;
  };
  std::pair<double, double> own = unit(type);
  // Types of which there are as many are of one unit.
  double next = 0;
  llvm::SmallSet<size_t, 4> counts;
  for (size_t other = 0; row.compute && other < memories.size(); ++other)
    if (const size_t count = facts.input.blocks.countOf(other); count > 1 && counts.insert(count).second)
      next = std::max(next, unit(other).second);
  bool layer = facts.input.blocks.countOf(type) > 1;
  return (layer && row.gradient ? 2 : 1) * own.first + (row.compute ? own.second + next : 0);
}

/// Stages are cut by time, and one of them has more of the memory than the mean.
static constexpr double kUneven = 1.25;

/// Bytes that input gradients leave for weight gradients at a stage of a zero-bubble schedule. No host takes them.
static double leftAtStage(const Parallelism &shape, const BlockMemory &block, plan::Recompute mode, int64_t stage) {
  return std::min(double(stage) + 1, double(shape.microbatches)) * block.leftBytes[size_t(mode)];
}

/// Bytes of a block that wait at a stage of such a schedule. ZB-H1 makes weight gradients a stage's number of
/// micro-batches behind the input gradients (Qi et al. 2023): stage s of p has p micro-batches of what these read, p
/// - s of what only input gradients read, and s + 1 of what input gradients leave for them.
static double heldAtStage(const Parallelism &shape, const BlockMemory &block, plan::Recompute mode, int64_t stage) {
  double held = block.heldBytes[size_t(mode)], weights = block.weightBytes[size_t(mode)];
  double most = double(shape.microbatches), stages = double(shape.pp);
  return std::min(stages, most) * weights + std::min(stages - double(stage), most) * (held - weights) +
         leftAtStage(shape, block, mode, stage);
}

/// Saved bytes of a block for each micro-batch in flight at the first stage. Under zero-bubble schedules the saved
/// bytes change linearly from the first to the last stage. This function returns the larger end; the solver lowers the
/// micro-batches in flight of the other stages to match (sharesOfHeld).
static double heldBytes(const Parallelism &shape, const BlockMemory &block, plan::Recompute mode) {
  if (!hasWeightsApart(shape))
    return block.heldBytes[size_t(mode)];
  return std::max(heldAtStage(shape, block, mode, 0), heldAtStage(shape, block, mode, shape.pp - 1)) /
         double(std::min(shape.pp, shape.microbatches));
}

/// Bytes of the optimizer's state on the host of a device, for a stage of mean size.
double ShapeProblems::hostOptimizerBytes(const Parallelism &shape, const std::vector<BlockMemory> &memories) const {
  double bytes = 0;
  if (shape.offload.optimizer)
    for (size_t type = 0; type < memories.size(); ++type)
      bytes += stateOf(shape, memories[type]).host * double(facts.input.blocks.countOf(type)) / double(shape.pp);
  return bytes;
}

/// Has the host room for what the blocks of a stage keep?
bool ShapeProblems::mayOffload(const Parallelism &shape, const cost::StepProblem &step,
                               const std::vector<BlockMemory> &memories, double inFlight) const {
  if (!facts.offloads())
    return false;
  // Values that must lie there may be computed again as far as possible.
  plan::Recompute mode = facts.mustOffload() ? facts.modes().back() : facts.modes().front();
  double kept = 0;
  for (size_t type = 0; type < memories.size(); ++type)
    kept += inFlight * heldBytes(shape, memories[type], mode) * double(facts.input.blocks.countOf(type));
  return cost::hasRoom(step.host, hostOptimizerBytes(shape, memories),
                       (shape.pp > 1 ? kUneven : 1) * kept / double(shape.pp));
}

/// The shares of heldBytes that blocks hold at each stage, in the mode whose share is largest.
std::vector<double> ShapeProblems::sharesOfHeld(const Parallelism &shape, const std::vector<BlockMemory> &memories,
                                                llvm::ArrayRef<plan::Recompute> modes) const {
  std::vector<double> shares(size_t(shape.pp));
  for (plan::Recompute mode : modes) {
    // Held bytes are linear in the bytes of a block, so that one block with the sums stands for all.
    BlockMemory all;
    double most = 0;
    for (size_t type = 0; type < memories.size(); ++type) {
      const BlockMemory &block = memories[type];
      const double count = double(facts.input.blocks.countOf(type));
      for (auto bytes : {&BlockMemory::heldBytes, &BlockMemory::weightBytes, &BlockMemory::leftBytes})
        (all.*bytes)[size_t(mode)] += count * (block.*bytes)[size_t(mode)];
      most += count * heldBytes(shape, block, mode) * double(std::min(shape.pp, shape.microbatches));
    }
    for (int64_t stage = 0; stage < shape.pp; ++stage)
      shares[stage] = std::max(shares[stage], most > 0 ? heldAtStage(shape, all, mode, stage) / most : 1);
  }
  return shares;
}

/// In a step whose passes are one phase, while the last block turns from one to the other: what the layer before
/// keeps is still on its way to the host.
static void addTurn(const std::vector<BlockMemory> &memories, plan::StageProblem &problem) {
  for (size_t number = 0; number < problem.blocks.size(); ++number) {
    uint32_t last = problem.blocks[number];
    if (memories[last].logitBytes <= 0)
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

/// A shape with the prices of its blocks, from which all parts of its problem are made.
struct ShapeProblems::PricedShape {
  const Parallelism &shape;
  const PricedStep &local;
  /// The only mode of the problem; absent: it has all.
  std::optional<uint32_t> only;
  /// The recomputation of blocks in the modes of the problem.
  llvm::SmallVector<plan::Recompute> recomputed;
  cost::StepProblem step;
  /// Seconds of each type of blocks in each mode, row-major.
  std::vector<cost::LayerSeconds> seconds;
  cost::BubbleShares bubble;
  /// Micro-batches in flight at the first stage.
  double inFlight = 0;
  /// Scratch memory of library operations.
  double scratchBytes = 0;
  /// Whether the host has room for what the blocks of a stage keep.
  bool hostHasRoom = false;

  PricedShape(const Parallelism &shape, const PricedStep &local, std::optional<uint32_t> only)
      : shape(shape), local(local), only(only) {}
  const std::vector<BlockMemory> &memory() const { return local.memory; }
};

ShapeProblems::PricedShape ShapeProblems::price(const Parallelism &shape, std::optional<uint32_t> only) {
  PricedShape priced(shape, placements.pricedFor(shape), only);
  priced.recomputed = only ? llvm::SmallVector<plan::Recompute>{facts.recomputeOf(*only)}
                           : llvm::SmallVector<plan::Recompute>(facts.modes());
  priced.step = stepOf(shape);
  priced.seconds = priced.local.passes[plan::stateRow(shape.zero).compute].price(priced.step, facts.machine.constants);
  if (shape.pp > 1)
    priced.bubble = cost::bubbleSharesOf(shape.schedule, shape.virtualStages);
  priced.inFlight = facts.request.stages > 0
                        ? double(shape.microbatches)
                        : cost::microbatchesInFlight(shape.schedule, shape.pp, shape.virtualStages, shape.microbatches);
  priced.scratchBytes = scratchBytes(facts.machine, priced.memory());
  priced.hostHasRoom = mayOffload(shape, priced.step, priced.memory(), priced.inFlight);
  return priced;
}

/// Whether blocks of a type keep their saved activations on the host in a mode.
bool ShapeProblems::isOffloaded(const PricedShape &priced, size_t type, uint32_t mode) const {
  if (facts.request.given)
    return facts.givenOnHost[type];
  return facts.isOnHost(mode) && (priced.hostHasRoom || facts.mustOffload());
}

/// Sets what blocks of a type take and keep in each mode. Their working bytes are those beyond `working`, which all
/// modes have.
void ShapeProblems::setModes(const PricedShape &priced, size_t type, double working,
                             std::vector<plan::BlockMode> &modes) const {
  const Parallelism &shape = priced.shape;
  const BlockMemory &block = priced.memory()[type];
  const size_t count = facts.modeCount();
  modes.clear();
  modes.reserve(count);
  for (uint32_t entry = 0; entry < count; ++entry) {
    const uint32_t number = priced.only.value_or(entry);
    const bool moves = isOffloaded(priced, type, number);
    if (entry > 0 && (priced.only || (facts.isOnHost(number) && !moves))) {
      modes.push_back(modes.front());
      continue;
    }
    const plan::Recompute mode = facts.recomputeOf(number);
    const double held = block.heldBytes[size_t(mode)];
    const double time = priced.seconds[type * count + facts.pricedMode(uint32_t(type), number)].total();
    plan::BlockMode &made = modes.emplace_back(moves ? plan::keptByHost(time, held)
                                                     : plan::BlockMode{time, heldBytes(shape, block, mode), 0});
    // With one micro-batch, resharded copies of parameters wait for the backward pass. The host does not take what
    // input gradients leave for weight gradients.
    made.heldBytes += (bringsAtOnce(shape) ? 0 : block.broughtHeldBytes[size_t(mode)]) +
                      (moves && hasWeightsApart(shape) ? block.leftBytes[size_t(mode)] : 0);
    // Values that come back are there while the block runs.
    made.workingBytes = block.workingBytes[size_t(mode)] - working + (moves ? held : 0);
  }
  // Whole gradients of a parameter that the first and the last block read are there all the while between.
  if (freesGradients(shape) && shape.pp == 1)
    for (plan::BlockMode &mode : modes)
      mode.heldBytes += plan::bytesOf(shape.gradients) * block.sharedParameters;
}

/// Sets what blocks of a type take and hold, but for the end of a step.
void ShapeProblems::setType(const PricedShape &priced, size_t type, plan::BlockType &blocks) const {
  const Parallelism &shape = priced.shape;
  const BlockMemory &block = priced.memory()[type];
  double working = std::numeric_limits<double>::max();
  for (plan::Recompute mode : priced.recomputed)
    working = std::min(working, block.workingBytes[size_t(mode)]);
  blocks.modes.resize(1);
  setModes(priced, type, working, blocks.modes[0]);
  blocks.stateBytes = stateOf(shape, block).total() + onceBytes(shape, block);
  // Logits that are there at once are gone when whole gradients of the classifier are made of theirs.
  double whole =
      freesGradients(shape) ? plan::bytesOf(shape.gradients) * (block.parameters + block.sharedParameters) : 0;
  double logits = std::max(block.logitBytes - whole, block.lateLogitBytes);
  blocks.workingBytes = working + logits + unitBytes(shape, priced.memory(), type) + priced.scratchBytes;
  blocks.filledSeconds = priced.bubble.filled * priced.seconds[type * facts.modeCount()].weightGradient;
}

/// Seconds of the backward pass of a block in the mode that takes longest. Reductions hide behind the backward pass:
/// the mode that recomputes most hides most of them, and no plan of the shape hides more.
double ShapeProblems::longestBackward(const PricedShape &priced, size_t type) const {
  const size_t count = facts.modeCount(), first = type * count;
  double longest = 0;
  for (uint32_t entry = 0; entry < count; ++entry)
    longest =
        std::max(longest, priced.seconds[first + priced.only.value_or(entry)].total() - priced.seconds[first].forward);
  return longest;
}

/// Sets the seconds that each type of blocks takes to send its values to the next stage, and at the end of a step.
void ShapeProblems::setStepEnd(const PricedShape &priced, std::vector<plan::BlockType> &types) const {
  const Parallelism &shape = priced.shape;
  const cost::StepProblem &step = priced.step;
  const std::vector<BlockMemory> &memories = priced.memory();
  double parameters = 0, backward = 0;
  cost::OrthogonalMatrices matrices;
  for (size_t type = 0; type < memories.size(); ++type) {
    double count = double(facts.input.blocks.countOf(type));
    parameters += memories[type].parameters * count;
    matrices.add(facts.matrices[type], count / double(shape.pp));
    backward += longestBackward(priced, type) * count;
  }
  double tail = cost::secondsAtEnd(step, facts.machine.constants, {parameters / double(shape.pp), 0},
                                   backward / double(shape.pp));
  // Which matrices a rank has beside its part of them is known of given stages alone.
  matrices.largest = matrices.largestOfLayers = 0;
  const double orthogonal =
      matrices.flops > 0 ? cost::secondsAtEnd(step, facts.machine.constants, {0, 0, matrices}, /*backward=*/0) : 0;
  for (size_t type = 0; type < memories.size(); ++type) {
    const BlockMemory &block = memories[type];
    types[type].sendSeconds =
        double(shape.microbatches) * cost::secondsToSendOn(step, block.leavingBytes, facts.machine.constants);
    types[type].tailSeconds =
        (parameters > 0 ? tail * block.parameters * double(shape.pp) / parameters : 0) + priced.local.once[type];
    if (matrices.flops > 0)
      types[type].tailSeconds += orthogonal * facts.matrices[type].flops / matrices.flops;
    // The experts' copies are fewer.
    if (block.expertParameters > 0)
      types[type].tailSeconds +=
          cost::secondsAtEnd(step, facts.machine.constants, {0, block.expertParameters}, /*backward=*/0);
  }
}

/// Sets the memory that a device may use. It is none where the host does not hold what it must.
void ShapeProblems::setMemoryLimit(const PricedShape &priced, plan::StageProblem &problem) const {
  const Parallelism &shape = priced.shape;
  double usable = facts.request.anyMemory ? 0 : facts.usableBytes(shape);
  int64_t stages = facts.isMixed ? facts.own / (shape.tp * shape.cp * shape.dp) : shape.pp;
  problem.classes = {{stages, usable > 0 || (!facts.request.anyMemory && facts.machine.memoryBytes() > 0)
                                  ? usable
                                  : std::numeric_limits<double>::max()}};
  if (!facts.request.anyMemory && (!cost::hasRoom(priced.step.host, hostOptimizerBytes(shape, priced.memory())) ||
                                   (facts.mustOffload() && !priced.hostHasRoom)))
    problem.classes[0].memoryBytes = 0;
}

/// Sets the micro-batches in flight of each rank of the pipeline.
void ShapeProblems::setInFlight(const PricedShape &priced, std::vector<double> &inFlight) {
  const Parallelism &shape = priced.shape;
  const bool isNamed = facts.request.stages == 0; // the actions are those of a schedule, not of a file
  const bool falls = isNamed && cost::has(shape.schedule, cost::ScheduleRow::FewerLater);
  inFlight.clear();
  for (int64_t stage = 0; stage < shape.pp; ++stage)
    inFlight.push_back(std::max(1.0, priced.inFlight - (falls ? double(stage) : 0)));
  if (hasWeightsApart(shape) && isNamed)
    for (auto [own, share] : llvm::zip_equal(inFlight, sharesOfHeld(shape, priced.memory(), priced.recomputed)))
      own *= share;
  if (facts.hasVirtualStages(shape) && isNamed) {
    // The stages of a rank are alike, and what they keep shares one memory (exec-assign-slots).
    const VirtualFlights &flights = flightsOf(shape);
    for (int64_t rank = 0; rank < shape.pp; ++rank)
      inFlight[rank] = double(flights.ofRanks[rank]) / double(shape.virtualStages);
  }
}

void ShapeProblems::make(const Parallelism &shape, std::optional<uint32_t> only, plan::StageProblem &problem) {
  const PricedShape priced = price(shape, only);
  const std::vector<BlockMemory> &memories = priced.memory();
  problem.types.resize(memories.size());
  for (size_t type = 0; type < memories.size(); ++type)
    setType(priced, type, problem.types[type]);
  setStepEnd(priced, problem.types);
  problem.blocks.clear();
  for (const StepBlocks::Block &block : facts.input.blocks.blocks())
    problem.blocks.push_back(block.type);
  if (shape.pp == 1)
    addTurn(memories, problem);
  // If a rank has several stages, the problem knows the ranks alone, and cutsOf says how these are cut.
  problem.begins.clear();
  problem.isDealt = facts.hasVirtualStages(shape);
  if (int64_t(facts.begins.size()) == shape.pp && !facts.hasVirtualStages(shape))
    problem.begins = facts.begins;
  setMemoryLimit(priced, problem);
  setInFlight(priced, problem.inFlight);
  problem.ramp = priced.bubble.all;
  problem.rounds = std::max(0.0, double(shape.microbatches) - problem.ramp);
}

const ShapeProblems::VirtualFlights &ShapeProblems::flightsOf(const Parallelism &shape) {
  // No stage has more in flight with more micro-batches than these: a rank begins its backward passes before it
  // has entered twice as many as there are ranks.
  int64_t microbatches = std::min(shape.microbatches, 3 * shape.pp);
  std::lock_guard lock(flying);
  VirtualFlights &flight = flights[{shape.pp, shape.virtualStages, microbatches}];
  if (flight.ofRanks.empty()) {
    // If a file gives the actions, the request has one schedule, and the shapes one size.
    flight.schedule = facts.request.actions;
    if (flight.schedule.ranks.empty())
      flight.schedule = llvm::cantFail(plan::makeSchedule(shape.scheduleName(), shape.pp, microbatches));
    for (size_t rank = 0; rank < flight.schedule.ranks.size(); ++rank)
      flight.ofRanks.push_back(flight.schedule.peakInFlight(int64_t(rank)));
  }
  return flight;
}

std::vector<size_t> ShapeProblems::cutsOf(const plan::Parallelism &shape, const plan::StageSolution &solution) {
  return cutsOf(shape, facts.hasVirtualStages(shape) ? make(shape) : plan::StageProblem(), solution);
}

std::vector<size_t> ShapeProblems::cutsOf(const plan::Parallelism &shape, const plan::StageProblem &problem,
                                          const plan::StageSolution &solution) const {
  std::vector<size_t> cuts;
  if (facts.stagesOf(shape) == shape.pp) {
    for (size_t stage = 1; stage < solution.stages.size(); ++stage)
      cuts.push_back(solution.stages[stage].firstBlock);
    return cuts;
  }
  if (int64_t(facts.begins.size()) == facts.stagesOf(shape))
    return {facts.begins.begin() + 1, facts.begins.end()};
  std::vector<double> seconds;
  for (size_t block = 0; block < problem.blocks.size(); ++block)
    seconds.push_back(problem.types[problem.blocks[block]].modes[0][solution.modes[block]].seconds);
  return plan::cutEvenly(seconds, size_t(facts.stagesOf(shape)));
}

double ShapeProblems::secondsAsDealt(const plan::Parallelism &shape, const plan::StageProblem &problem,
                                     const plan::StageSolution &solution) const {
  std::vector<size_t> firsts = cutsOf(shape, problem, solution);
  firsts.insert(firsts.begin(), 0);
  std::vector<double> loads(size_t(shape.pp)), sends(loads.size(), plan::kNever);
  double sum = 0;
  for (size_t stage = 0; stage < firsts.size(); ++stage) {
    const bool isLast = stage + 1 == firsts.size();
    const size_t end = isLast ? problem.blocks.size() : firsts[stage + 1], rank = rankOfStage(shape, stage);
    for (size_t block = firsts[stage]; block < end; ++block) {
      const plan::BlockType &type = problem.types[problem.blocks[block]];
      const double seconds = type.modes[0][solution.modes[block]].seconds;
      loads[rank] += problem.rounds * seconds + type.tailSeconds + type.filledSeconds;
      sum += seconds;
    }
    // The seconds of messages are those of all stages of a rank.
    sends[rank] = std::min(sends[rank], isLast ? 0 : problem.types[problem.blocks[end - 1]].sendSeconds);
  }
  double longest = 0;
  for (auto [load, send] : llvm::zip_equal(loads, sends))
    longest = std::max(longest, load + send);
  return longest + problem.ramp * sum - problem.filledSeconds();
}

size_t ShapeProblems::rankOfStage(const Parallelism &shape, size_t stage) const {
  const plan::Schedule &actions = facts.request.actions;
  return actions.ranks.empty() ? stage % size_t(shape.pp) : size_t(actions.rankOf(int64_t(stage)).value_or(0));
}

std::vector<plan::MemoryParts> ShapeProblems::memoryByRank(const Parallelism &shape, const plan::StageProblem &problem,
                                                           const plan::StageSolution &solution) {
  const bool isVirtual = facts.hasVirtualStages(shape);
  // Blocks that keep the same bytes share memory if they are of different stages (exec-assign-slots): the first of each
  // stage, the second ones, and so on. Stages by rank, kept bytes on the device and on the host, and that number.
  struct Kept {
    size_t rank;
    double held, host;
    int64_t number, stage;
    auto sharing() const { return std::tie(rank, held, host, number); }
  };
  std::vector<Kept> kept;
  const std::vector<BlockMemory> &memories = placements.pricedFor(shape).memory;
  std::vector<size_t> firsts = cutsOf(shape, problem, solution);
  firsts.insert(firsts.begin(), 0);
  std::vector<plan::MemoryParts> ranks(shape.pp);
  for (size_t stage = 0; stage < firsts.size(); ++stage) {
    size_t end = stage + 1 < firsts.size() ? firsts[stage + 1] : problem.blocks.size();
    const size_t rank = rankOfStage(shape, stage);
    plan::MemoryParts &memory = ranks[rank];
    const auto ofStage = std::ptrdiff_t(kept.size());
    for (size_t block = firsts[stage]; block < end; ++block) {
      const plan::BlockType &type = problem.types[problem.blocks[block]];
      const BlockMemory &own = memories[problem.blocks[block]];
      plan::MemoryParts state = stateOf(shape, own);
      memory.parameters += state.parameters;
      memory.gradients += state.gradients;
      memory.optimizer += state.optimizer;
      memory.activations += onceBytes(shape, own);
      uint32_t number = solution.modes[block];
      const plan::BlockMode &mode = type.modes[0][number];
      if (hasWeightsApart(shape)) {
        auto waiting = mode.hostBytes > 0 ? leftAtStage : heldAtStage;
        memory.activations += waiting(shape, own, facts.recomputeOf(number), int64_t(stage));
      } else if (!isVirtual) {
        memory.activations += mode.heldBytes * problem.inFlight[stage];
      }
      memory.host += state.host + (isVirtual ? 0 : mode.hostBytes * problem.inFlight[stage]);
      if (isVirtual) {
        const double held = hasWeightsApart(shape) ? 0 : mode.heldBytes;
        auto isLike = [&](const Kept &each) { return each.held == held && each.host == mode.hostBytes; };
        const int64_t number = std::count_if(kept.begin() + ofStage, kept.end(), isLike);
        kept.push_back({rank, held, mode.hostBytes, number, int64_t(stage)});
      }
      memory.working = std::max(memory.working, type.workingBytes + mode.workingBytes);
    }
  }
  // Messages wait at their sender, those of training and of evaluation, and at their receiver those of one action
  // (exec-reserve-workspace).
  std::vector<double> fromBefore(ranks.size()), fromAfter(ranks.size());
  for (size_t stage = 1; stage < firsts.size() && !facts.machine.isCpu(); ++stage) {
    constexpr double kForward = 2, kBackward = 1;
    const BlockMemory &sender = memories[problem.blocks[firsts[stage] - 1]];
    const size_t before = rankOfStage(shape, stage - 1), after = rankOfStage(shape, stage);
    if (before == after)
      continue;
    ranks[before].activations += kForward * sender.leavingRoomBytes;
    ranks[after].activations += kBackward * sender.leavingRoomBytes;
    fromBefore[after] = std::max(fromBefore[after], sender.leavingBytes);
    fromAfter[before] = std::max(fromAfter[before], sender.leavingBytes);
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    ranks[rank].activations += fromBefore[rank] + fromAfter[rank];
  llvm::sort(kept, [](const Kept &a, const Kept &b) {
    return std::tuple_cat(a.sharing(), std::tie(a.stage)) < std::tuple_cat(b.sharing(), std::tie(b.stage));
  });
  std::vector<int64_t> stages;
  for (auto first = kept.begin(), end = first; first != kept.end(); first = end) {
    end = std::find_if(first, kept.end(), [&](const Kept &each) { return each.sharing() != first->sharing(); });
    stages.clear();
    std::transform(first, end, std::back_inserter(stages), [](const Kept &each) { return each.stage; });
    const VirtualFlights &flights = flightsOf(shape);
    // Most blocks are in all stages of their rank.
    const bool isAll = int64_t(stages.size()) == shape.virtualStages && facts.request.actions.ranks.empty();
    const double most = double(isAll ? flights.ofRanks[first->rank] : flights.schedule.peakOfStages(stages));
    ranks[first->rank].activations += first->held * most;
    ranks[first->rank].host += first->host * most;
  }
  return ranks;
}

} // namespace dtcc::spmd
