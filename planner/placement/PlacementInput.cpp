//===- PlacementInput.cpp - What all placements of a step have in common
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/graph/NamedFunctions.h"
#include "planner/placement/PlaceExperts.h"
#include "planner/placement/PlanEntries.h"
#include "planner/placement/SolvePlacement.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dtcc::spmd {

PlacementInput::PlacementInput(func::FuncOp step, size_t mostBlocks, const Pins &pins, const GivenPlacement *given)
    : blocks(step, mostBlocks, pins, given), classes(step), inputs(step, classes),
      states(step->getParentOfType<ModuleOp>()), paddable(step, classes), pins(pins),
      expertLayers(spmd::expertLayers(step)) {
  for (Operation *layer : expertLayers)
    experts.insert(classes.ofDim(cast<graph::ExpertsOp>(layer).getWIn(), 0));
  for (Operation &op : step.getBody().front()) {
    if (!llvm::all_of(op.getOperands(), [&](Value operand) { return fixed.contains(operand); }))
      continue;
    fixed.insert(op.result_begin(), op.result_end());
    auto read = dyn_cast<graph::ReadOp>(op);
    auto state = read ? states.lookup<graph::StateOp>(read.getState()) : nullptr;
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return weights.contains(operand); }) ||
        (state && state.getRole() == graph::StateRole::parameter && state.getSavedShape().size() > 1))
      weights.insert(op.result_begin(), op.result_end());
  }
}

LogicalResult solvePlacement(ModuleOp module, plan::Plan &plan, const cost::Machine &machine, bool share) {
  func::FuncOp step = graph::findStep(module);
  if (!step)
    return failure();
  return solvePlacement(PlacementInput(step), plan, machine, share);
}

void placeAlike(const PlacementInput &input, plan::Plan &plan) {
  llvm::DenseMap<int64_t, const plan::OpPlan *> ops;
  llvm::StringMap<const plan::StatePlan *> states;
  std::vector<plan::OpPlan> firstOps = std::move(plan.ops);
  std::vector<plan::StatePlan> firstStates = std::move(plan.states);
  for (const plan::OpPlan &op : firstOps)
    ops[op.origin] = &op;
  for (const plan::StatePlan &state : firstStates)
    states[state.name] = &state;
  plan.ops.clear();
  plan.states.clear();
  llvm::StringSet<> placed;
  for (Operation &op : func::FuncOp(input.blocks.step()).getBody().front()) {
    Operation *first = input.blocks.representative(&op);
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      const plan::StatePlan *state = states.lookup(cast<graph::ReadOp>(first).getState());
      if (state && placed.insert(read.getState()).second) {
        plan.states.push_back(*state);
        plan.states.back().name = read.getState().str();
      }
    } else if (std::optional<int64_t> origin = graph::getOrigin(&op);
               origin && graph::getPhase(&op) == graph::Phase::Forward) {
      if (const plan::OpPlan *entry = ops.lookup(*graph::getOrigin(first))) {
        plan.ops.push_back(*entry);
        plan.ops.back().origin = *origin;
      }
    }
  }
  sortEntries(plan);
}

} // namespace dtcc::spmd
