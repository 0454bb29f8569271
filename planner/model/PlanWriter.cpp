//===- PlanWriter.cpp - A solved shape as a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/PlanWriter.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "passes/spmd/layout/OrderPositions.h"
#include "planner/placement/PlanEntries.h"

using namespace mlir;

namespace dtcc::spmd {

void PlanWriter::addRecomputation(plan::Plan &plan, const plan::StageSolution &solution) {
  llvm::ArrayRef<StepBlocks::Block> row = facts.input.blocks.blocks();
  // If a block would compute nothing again, any mode is as good for it.
  std::vector<bool> differs(row.size());
  for (Operation &op : func::FuncOp(facts.step).front())
    if (std::optional<uint32_t> block = facts.input.blocks.blockOf(&op))
      for (Value result : op.getResults())
        if (facts.values.gone(plan::Recompute::Selective).contains(result) ||
            facts.values.gone(plan::Recompute::Full).contains(result))
          differs[*block] = true;
  std::optional<plan::Recompute> common;
  bool alike = true;
  for (size_t block = 0; block < row.size(); ++block) {
    plan::Recompute mode = facts.recomputeOf(solution.modes[block]);
    alike &= !differs[block] || !common || *common == mode;
    if (differs[block] && !common)
      common = mode;
  }
  if (alike || facts.request.recompute) {
    plan.recompute = facts.request.recompute.value_or(common.value_or(plan::Recompute::None));
    return;
  }
  llvm::MapVector<int64_t, Operation *> again;
  for (Operation &op : func::FuncOp(facts.step).front()) {
    std::optional<uint32_t> block = facts.input.blocks.blockOf(&op);
    if (!block || graph::getPhase(&op) != graph::Phase::Forward)
      continue;
    const plan::Recompute mode = facts.recomputeOf(solution.modes[*block]);
    auto isGone = [&](Value result) { return facts.values.gone(mode).contains(result); };
    auto waits = [&](Value result) { return facts.values.waits(result, mode); };
    // Results that nobody reads in the backward pass are neither kept nor gone.
    if (llvm::any_of(op.getResults(), isGone) && llvm::none_of(op.getResults(), waits))
      again[*graph::getOrigin(&op)] = &op;
  }
  markEntries(plan, again, [](plan::OpPlan &entry) { entry.recompute = true; });
}

void PlanWriter::addOffload(plan::Plan &plan, const plan::Parallelism &shape, const plan::StageSolution &solution) {
  const std::vector<BlockMemory> &blocks = placements.pricedFor(shape).memory;
  auto moves = [&](uint32_t block) {
    uint32_t mode = solution.modes[block];
    return facts.isOnHost(mode) &&
           blocks[facts.input.blocks.blocks()[block].type].heldBytes[size_t(facts.recomputeOf(mode))] > 0;
  };
  llvm::MapVector<int64_t, Operation *> moved;
  for (Operation &op : func::FuncOp(facts.step).front())
    if (std::optional<uint32_t> block = facts.input.blocks.blockOf(&op); block && moves(*block))
      if (graph::getPhase(&op) == graph::Phase::Forward && isa<FactorOpInterface>(op) && op.getNumResults() > 0)
        moved[*graph::getOrigin(&op)] = &op;
  plan.offload.activations = !moved.empty();
  markEntries(plan, moved, [](plan::OpPlan &entry) { entry.onHost = true; });
}

void PlanWriter::addPipeline(plan::Plan &plan, const plan::Parallelism &shape, const plan::StageSolution &solution,
                             std::vector<std::string> devices) {
  llvm::ArrayRef<StepBlocks::Block> row = facts.input.blocks.blocks();
  plan::PipelinePlan &pipeline = *plan.pipeline;
  pipeline.actions = facts.request.actions;
  if (!pipeline.actions.ranks.empty())
    pipeline.schedule.clear();
  for (size_t block : problems.cutsOf(shape, solution))
    pipeline.cuts.push_back(row[block].origin);
  pipeline.devices = std::move(devices);
}

void PlanWriter::holdSums(plan::Plan &plan) const {
  for (Value value : facts.request.pins.values()) {
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

plan::Plan PlanWriter::write(const plan::Parallelism &shape, const plan::StageSolution &solution,
                             std::vector<std::string> devices) {
  const PlacedStep &placed = placements.placedFor(shape);
  plan::Plan plan = plan::makeDefaultPlan(shape);
  plan.ops = placed.plan.ops;
  plan.states = placed.plan.states;
  placeAlike(facts.input, plan);
  // Exchanges are chosen for the samples that there are.
  (void)placeExperts(facts.step, plan, facts.machine, facts.request.experts, facts.request.capacity);
  (void)placeSequence(facts.input, plan, facts.machine, shape.exchange);
  if (shape.tp > 1)
    holdSums(plan);
  if (shape.cp > 1) {
    bool ring = shape.exchange == SequenceExchange::Ring && hasCausalAttention(facts.step);
    plan.sequenceOrder =
        facts.request.order.value_or(ring && !whyNotZigZag(facts.step, shape.cp, shape.sequenceParallel ? shape.tp : 1)
                                         ? plan::SequenceOrder::ZigZag
                                         : plan::SequenceOrder::Contiguous);
  }
  addRecomputation(plan, solution);
  addOffload(plan, shape, solution);
  if (shape.pp > 1)
    addPipeline(plan, shape, solution, std::move(devices));
  return plan;
}

} // namespace dtcc::spmd
