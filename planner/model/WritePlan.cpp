//===- WritePlan.cpp - From a solved shape to a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "passes/spmd/layout/OrderPositions.h"
#include "planner/model/KnownPrices.h"
#include "planner/placement/PlanEntries.h"

using namespace mlir;

namespace dtcc::spmd {

/// Which blocks are computed again: as the mode of the whole plan where all are alike, else op by op.
void GraphPricer::addRecomputation(plan::Plan &plan, const plan::StageSolution &solution) {
  llvm::ArrayRef<StepBlocks::Block> row = input.blocks.blocks();
  // Where nothing would be computed again, any mode is as good.
  std::vector<bool> differs(row.size());
  for (Operation &op : step.front())
    if (std::optional<uint32_t> block = input.blocks.blockOf(&op))
      for (Value result : op.getResults())
        if (values.gone(plan::Recompute::Selective).contains(result) ||
            values.gone(plan::Recompute::Full).contains(result))
          differs[*block] = true;
  std::optional<plan::Recompute> common;
  bool alike = true;
  for (size_t block = 0; block < row.size(); ++block) {
    plan::Recompute mode = recomputeOf(solution.modes[block]);
    alike &= !differs[block] || !common || *common == mode;
    if (differs[block] && !common)
      common = mode;
  }
  if (alike || request.recompute) {
    plan.recompute = request.recompute.value_or(common.value_or(plan::Recompute::None));
    return;
  }
  llvm::MapVector<int64_t, Operation *> again;
  for (Operation &op : step.front()) {
    std::optional<uint32_t> block = input.blocks.blockOf(&op);
    if (!block || graph::getPhase(&op) != graph::Phase::Forward)
      continue;
    const StepValues::Values &gone = values.gone(recomputeOf(solution.modes[*block]));
    if (op.getNumResults() > 0 && llvm::all_of(op.getResults(), [&](Value result) { return gone.contains(result); }))
      again[*graph::getOrigin(&op)] = &op;
  }
  markEntries(plan, again, [](plan::OpPlan &entry) { entry.recompute = true; });
}

/// What lies with the hosts: of blocks whose values do, op by op.
void GraphPricer::addOffload(plan::Plan &plan, const plan::PlanShape &shape, const plan::StageSolution &solution) {
  plan.offload.optimizer = shape.hostOptimizer;
  const std::vector<BlockCost> &costs = costsOf(shape);
  auto moves = [&](uint32_t block) {
    uint32_t mode = solution.modes[block];
    return isOnHost(mode) && costs[input.blocks.blocks()[block].type].heldBytes[size_t(recomputeOf(mode))] > 0;
  };
  llvm::MapVector<int64_t, Operation *> moved;
  for (Operation &op : step.front())
    if (std::optional<uint32_t> block = input.blocks.blockOf(&op); block && moves(*block))
      if (graph::getPhase(&op) == graph::Phase::Forward && isa<FactorOpInterface>(op) && op.getNumResults() > 0)
        moved[*graph::getOrigin(&op)] = &op;
  plan.offload.activations = !moved.empty();
  markEntries(plan, moved, [](plan::OpPlan &entry) { entry.onHost = true; });
}

/// Runs of blocks, of which the slowest takes least.
static std::vector<size_t> cutEvenly(llvm::ArrayRef<double> seconds, size_t stages) {
  size_t count = seconds.size();
  std::vector<double> sums(count + 1);
  for (size_t i = 0; i < count; ++i)
    sums[i + 1] = sums[i] + seconds[i];
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(count + 1, INFINITY));
  std::vector<std::vector<size_t>> from(stages + 1, std::vector<size_t>(count + 1));
  best[0][0] = 0;
  for (size_t k = 1; k <= stages; ++k)
    for (size_t end = k; end <= count; ++end)
      for (size_t begin = k - 1; begin < end; ++begin)
        if (double slowest = std::max(best[k - 1][begin], sums[end] - sums[begin]); slowest < best[k][end]) {
          best[k][end] = slowest;
          from[k][end] = begin;
        }
  std::vector<size_t> cuts;
  for (size_t k = stages, end = count; k > 1; --k) {
    end = from[k][end];
    cuts.insert(cuts.begin(), end);
  }
  return cuts;
}

std::vector<size_t> GraphPricer::cutsOf(const plan::PlanShape &shape, const plan::StageSolution &solution) {
  std::vector<size_t> cuts;
  if (stagesOf(shape) == shape.pp) {
    for (size_t stage = 1; stage < solution.stages.size(); ++stage)
      cuts.push_back(solution.stages[stage].firstBlock);
    return cuts;
  }
  if (int64_t(begins.size()) == stagesOf(shape))
    return {begins.begin() + 1, begins.end()};
  plan::StageProblem all = problem(shape);
  std::vector<double> seconds;
  for (size_t block = 0; block < all.blocks.size(); ++block)
    seconds.push_back(all.types[all.blocks[block]].modes[0][solution.modes[block]].seconds);
  return cutEvenly(seconds, size_t(stagesOf(shape)));
}

void GraphPricer::addPipeline(plan::Plan &plan, const plan::PlanShape &shape, const plan::StageSolution &solution) {
  llvm::ArrayRef<StepBlocks::Block> row = input.blocks.blocks();
  auto first = llvm::find_if(plan.mesh.axes, [](const MeshAxis &axis) { return !axis.time; });
  plan.mesh.axes.insert(first, {"pp", shape.pp, false});
  plan::PipelinePlan pipeline{"pp", shape.scheduleName(), request.actions, {}};
  if (!request.actions.ranks.empty())
    pipeline.schedule.clear();
  for (size_t block : cutsOf(shape, solution))
    pipeline.cuts.push_back(row[block].origin);
  if (isMixed())
    for (const plan::StageSolution::Stage &stage : solution.stages)
      pipeline.devices.push_back(kind(stage.deviceClass).machine.device.name);
  plan.pipeline = std::move(pipeline);
}

/// No partial sums flow into values that are held to a layout.
void GraphPricer::holdSums(plan::Plan &plan) const {
  for (Value value : request.pins.values()) {
    Operation *op = value.getDefiningOp();
    if (isa<graph::ReadOp>(op) || cast<FactorOpInterface>(op).getFactorMap().linear.empty())
      continue;
    int64_t origin = *graph::getOrigin(op);
    auto entry = llvm::find_if(plan.ops, [&](const plan::OpPlan &each) { return each.origin == origin; });
    if (entry == plan.ops.end())
      entry = plan.ops.insert(entry, {origin, op->getName().getStringRef().str(), {}, {}, {}, {}});
    entry->partial = Axes();
  }
  sortEntries(plan);
}

plan::Plan GraphPricer::write(const plan::PlanShape &shape, const plan::StageSolution &solution) {
  const Placed &placed = placedFor(shape);
  plan::Plan plan =
      plan::makeDefaultPlan(shape.microbatches, shape.dp / shape.ep, shape.tp, shape.zero, request.groups, shape.cp);
  addExpertAxis(plan, shape.ep);
  plan.ops = placed.plan.ops;
  plan.states = placed.plan.states;
  placeAlike(input, plan);
  plan.sequenceParallel = shape.sequenceParallel;
  // Exchanges are chosen for the examples that there are.
  (void)placeExperts(step, plan, machine, request.experts);
  (void)placeSequence(input, plan, machine, request.exchange);
  if (shape.tp > 1)
    holdSums(plan);
  if (shape.cp > 1) {
    bool ring = request.exchange == SequenceExchange::Ring && hasCausalAttention(step);
    plan.sequenceOrder = request.order.value_or(
        ring && !whyNotZigZag(step, shape.cp, shape.sequenceParallel ? shape.tp : 1) ? plan::SequenceOrder::ZigZag
                                                                                     : plan::SequenceOrder::Contiguous);
  }
  addRecomputation(plan, solution);
  addOffload(plan, shape, solution);
  if (shape.pp > 1)
    addPipeline(plan, shape, solution);
  return plan;
}

} // namespace dtcc::spmd
