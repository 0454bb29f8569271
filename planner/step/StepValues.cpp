//===- StepValues.cpp - Which values of a step wait for its backward pass
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/step/StepValues.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "passes/graph/Recompute.h"
#include "passes/spmd/partition/ComputeTypes.h"
#include "planner/step/ViewOps.h"

using namespace mlir;

namespace dtcc::spmd {

static bool isForward(Operation *op) { return graph::getPhase(op) == graph::Phase::Forward; }
static bool isBackward(Operation *op) {
  graph::Phase phase = graph::getPhase(op);
  return phase == graph::Phase::InputGradient || phase == graph::Phase::WeightGradient;
}

StepValues::StepValues(const StepBlocks &blocks) {
  findFree(blocks.step());
  findCopies(blocks.step());
  findSums(blocks.step());
  findModes(blocks);
}

bool StepValues::waits(Value value, plan::Recompute mode) const {
  const Values &gone = recomputed[size_t(mode)];
  Operation *op = value.getDefiningOp();
  return op && isForward(op) && !gone.contains(value) && llvm::any_of(value.getUsers(), [&](Operation *user) {
           return isBackward(user) || (isForward(user) && llvm::any_of(user->getResults(), [&](Value result) {
                                         return gone.contains(result);
                                       }));
         });
}

Value StepValues::rootOf(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape->getOperand(0);
  return value;
}

void StepValues::findFree(func::FuncOp step) {
  for (Operation &op : step.front()) {
    // Gradients want the parts of an unstacked value, rarely all of it: the parts count as values of their own.
    bool isFree = takesNoKernel(&op) && !isa<graph::UnstackOp>(op);
    for (Value result : op.getResults())
      if (isFree || llvm::any_of(result.getUsers(), [](Operation *user) { return isa<graph::UpdateOp>(user); }))
        free.insert(result);
  }
  step.walk([&](graph::CrossEntropyOp loss) {
    Value logits = rootOf(loss->getOperand(0));
    classes.insert(logits);
    for (Operation *user : logits.getUsers())
      if (isBackward(user))
        for (Value result : user->getResults())
          if (result.getType() == logits.getType()) {
            classes.insert(result);
            for (Operation *reader : result.getUsers())
              if (isa<graph::CastOp>(reader))
                classes.insert(reader->getResult(0));
          }
  });
}

void StepValues::findCopies(func::FuncOp step) {
  for (auto &[name, found] : findNarrowReads(step->getParentOfType<ModuleOp>(), step)) {
    copies[name] = int64_t(llvm::divideCeil(found.type.getWidth(), 8));
    for (Operation *move : found.moves)
      free.insert_range(move->getResults());
    for (graph::CastOp cast : found.casts) {
      free.insert(cast.getY());
      storedCasts.insert(cast);
    }
  }
}

/// Finds the terms that are summed to a gradient, as that of a parameter with several readers.
void StepValues::findSums(func::FuncOp step) {
  for (Operation &op : llvm::reverse(step.front()))
    if (auto sum = dyn_cast<graph::AddOp>(op); sum && free.contains(sum->getResult(0)) && isBackward(sum))
      for (Value operand : sum->getOperands())
        if (operand.hasOneUse() && operand.getType() == sum->getResult(0).getType())
          free.insert(operand);
}

void StepValues::findModes(const StepBlocks &blocks) {
  func::FuncOp step = blocks.step();
  llvm::DenseSet<Value> ofInput;
  for (BlockArgument argument : step.getArguments())
    ofInput.insert(argument);
  for (Operation &op : step.front())
    if (isForward(&op) && llvm::any_of(op.getOperands(), [&](Value value) { return ofInput.contains(value); }))
      ofInput.insert_range(op.getResults());

  for (plan::Recompute mode : {plan::Recompute::Selective, plan::Recompute::Full}) {
    Values &gone = recomputed[size_t(mode)];
    graph::RecomputeDecision decision = graph::decideRecompute(step, mode);
    for (auto &[value, segment] : decision.segments)
      gone.insert(value);
    // A value that the backward pass does not need is not recomputed.
    for (Operation &op : llvm::reverse(step.front()))
      for (Value value : op.getResults())
        if (gone.contains(value) && llvm::none_of(value.getUsers(), [&](Operation *user) {
              return isBackward(user) ||
                     llvm::any_of(user->getResults(), [&](Value result) { return gone.contains(result); });
            }))
          gone.erase(value);
  }
  worked[size_t(plan::Recompute::Selective)] = recomputed[size_t(plan::Recompute::Selective)];
  // The last block keeps everything, because its backward pass follows at once.
  uint32_t last = blocks.blocks().size() - 1;
  for (Value value : graph::findActivations(step)) {
    Operation *op = value.getDefiningOp();
    std::optional<uint32_t> block = blocks.blockOf(op);
    bool leaves = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return isForward(user) && blocks.blockOf(user) && blocks.blockOf(user) != block;
    });
    if (block && *block != last && !leaves && isPure(op))
      worked[size_t(plan::Recompute::Full)].insert(value);
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
      Value root = rootOf(value);
      if (free.contains(root) || !ofInput.contains(root))
        continue;
      llvm::SmallVector<Operation *> same = blocks.alike(op);
      for (size_t mode = 0; mode < kRecomputeModes; ++mode) {
        SavedActivation saved;
        for (Operation *each : same) {
          Value like = each->getResult(cast<OpResult>(value).getResultNumber());
          if (gone(plan::Recompute(mode)).contains(like))
            saved.again = like;
          if (!waits(like, plan::Recompute(mode)))
            continue;
          saved.share += 1 / double(same.size());
          saved.value = rootOf(like);
        }
        if (saved.value)
          if (SavedActivation &known = waiting[mode][root]; saved.share > known.share)
            known = saved;
      }
    }
  }
}

} // namespace dtcc::spmd
