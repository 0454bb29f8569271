//===- StepValues.cpp - Which values of a step wait for its backward pass
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/dist/StepValues.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "passes/graph/Recompute.h"

using namespace mlir;

namespace dtcc::dist {

static bool isForward(Operation *op) { return graph::getPhase(op) == graph::Phase::Forward; }
static bool isBackward(Operation *op) {
  graph::Phase phase = graph::getPhase(op);
  return phase == graph::Phase::InputGradient || phase == graph::Phase::WeightGradient;
}

StepValues::StepValues(const StepBlocks &blocks) {
  findFree(blocks.step());
  findModes(blocks);
  findLastReads(blocks.step());
}

llvm::ArrayRef<Value> StepValues::lastReadBy(Operation *op) const {
  auto found = ends.find(op);
  return found == ends.end() ? ArrayRef<Value>() : ArrayRef<Value>(found->second);
}

Value StepValues::rootOf(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape->getOperand(0);
  return value;
}

void StepValues::findFree(func::FuncOp step) {
  for (Operation &op : step.front()) {
    bool isView = isa<graph::ReadOp, graph::ConstantOp, graph::ReshapeOp, graph::BroadcastOp>(op);
    for (Value result : op.getResults())
      if (isView || llvm::any_of(result.getUsers(), [](Operation *user) { return isa<graph::UpdateOp>(user); }))
        free.insert(result);
  }
  step.walk([&](graph::CrossEntropyOp loss) {
    Value logits = rootOf(loss->getOperand(0));
    classes.insert(logits);
    for (Operation *user : logits.getUsers())
      if (isBackward(user))
        for (Value result : user->getResults())
          if (result.getType() == logits.getType())
            classes.insert(result);
  });
}

void StepValues::findModes(const StepBlocks &blocks) {
  func::FuncOp step = blocks.step();
  llvm::DenseSet<Value> ofInput;
  for (BlockArgument argument : step.getArguments())
    ofInput.insert(argument);
  for (Operation &op : step.front())
    if (isForward(&op) && llvm::any_of(op.getOperands(), [&](Value value) { return ofInput.contains(value); }))
      ofInput.insert_range(op.getResults());

  for (auto &[value, segment] : graph::decideRecompute(step, plan::Recompute::Selective).segments)
    recomputed[size_t(plan::Recompute::Selective)].insert(value);
  // A block by itself: what the next one reads is kept. Of the last nothing is let go, its backward pass comes at once.
  uint32_t last = blocks.blocks().size() - 1;
  for (Value value : graph::findActivations(step)) {
    Operation *op = value.getDefiningOp();
    std::optional<uint32_t> block = blocks.blockOf(op);
    bool leaves = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return isForward(user) && blocks.blockOf(user) && blocks.blockOf(user) != block;
    });
    if (block && *block != last && !leaves && isPure(op))
      recomputed[size_t(plan::Recompute::Full)].insert(value);
  }

  for (Operation *op : blocks.uniqueOps()) {
    if (!isForward(op))
      continue;
    for (Value value : op->getResults()) {
      if (!ofInput.contains(value)) {
        if (!free.contains(value))
          once.insert(value);
        continue;
      }
      for (size_t mode = 0; mode < kRecomputeModes; ++mode) {
        const Values &gone = recomputed[mode];
        bool waits = !gone.contains(value) && llvm::any_of(value.getUsers(), [&](Operation *user) {
          return isBackward(user) || (isForward(user) && llvm::any_of(user->getResults(), [&](Value result) {
                                        return gone.contains(result);
                                      }));
        });
        Value root = rootOf(value);
        if (waits && !free.contains(root) && ofInput.contains(root))
          waiting[mode].insert(root);
      }
    }
  }
}

void StepValues::findLastReads(func::FuncOp step) {
  llvm::DenseSet<Value> seen;
  for (Operation &op : llvm::reverse(step.front()))
    for (Value operand : op.getOperands())
      if (Value root = rootOf(operand); root.getDefiningOp() && seen.insert(root).second)
        ends[&op].push_back(root);
}

} // namespace dtcc::dist
