//===- BlockTable.cpp - What all prices of a step's blocks have in common
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/dist/BlockTable.h"
#include "passes/dist/Projection.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

using namespace mlir;

namespace dtcc::dist {

BlockTable::BlockTable(const PlacementInput &input, const StepValues &values) : input(input), step(values) {
  for (BlockArgument argument : input.blocks.step().getArguments())
    if (cast<ShapedType>(argument.getType()).getRank() > 0)
      batch.insert(input.classes.ofDim(argument, 0));
  positions = positionClasses(input.blocks.step(), input.classes);
  for (Operation *op : input.blocks.uniqueOps())
    if (auto layer = dyn_cast<graph::ExpertsOp>(op))
      experts.insert(input.classes.ofDim(layer.getWIn(), 0));
  addOps();
  addEvents();
  addSegments();
  addTied();
}

SharedBy BlockTable::sharedDim(Value value, int64_t dim) const {
  unsigned id = input.classes.ofDim(value, dim);
  return batch.contains(id)       ? SharedBy::Batch
         : experts.contains(id)   ? SharedBy::Experts
         : positions.contains(id) ? SharedBy::Positions
                                  : SharedBy::Nothing;
}

void BlockTable::addOps() {
  const FactorClasses &classes = input.classes;
  for (Operation *op : input.blocks.uniqueOps()) {
    auto source = dyn_cast<FactorOpInterface>(op);
    if (!source)
      continue;
    Op each{op, source.getFactorMap(), graph::getPhase(op), graph::getOrigin(op).value_or(-1), {}, {}, {}};
    SmallVector<int64_t> origins = graph::getOriginFactors(op);
    for (auto [number, factor] : llvm::enumerate(each.map.factors)) {
      each.sources.push_back(each.phase == graph::Phase::Forward ? int64_t(number)
                             : number < origins.size()           ? origins[number]
                                                                 : -1);
      each.assignable.push_back(!whyNotAssignable(op, each.map, number));
      unsigned id = classes.ofFactor(op, number);
      // What an op wants whole of positions is gathered, exchanged or passed round for it.
      bool whole = factor.kind == FactorKind::Decompose && positions.contains(id) && !each.assignable.back();
      each.shared.push_back(whole                    ? SharedBy::Nothing
                            : batch.contains(id)     ? SharedBy::Batch
                            : experts.contains(id)   ? SharedBy::Experts
                            : positions.contains(id) ? SharedBy::Positions
                                                     : SharedBy::Nothing);
    }
    numbers[op] = ops.size();
    ops.push_back(std::move(each));
    for (Value result : op->getResults())
      if (!step.isFree(result)) {
        valueNumbers[result] = values.size();
        values.push_back(result);
      }
  }
}

std::optional<uint32_t> BlockTable::numberOf(Value value) const {
  Operation *op = input.blocks.representative(value.getDefiningOp());
  auto at = valueNumbers.find(op->getResult(cast<OpResult>(value).getResultNumber()));
  return at == valueNumbers.end() ? std::nullopt : std::optional(at->second);
}

void BlockTable::addEvents() {
  const StepBlocks &row = input.blocks;
  // What waits for the backward pass is held by its block.
  std::vector<bool> waits;
  for (Value value : values)
    waits.push_back(step.held(plan::Recompute::None).contains(value) || step.constants().contains(value) ||
                    step.logits().contains(value));
  auto add = [&](Event::Kind kind, Value value) {
    if (std::optional<uint32_t> number = numberOf(value); number && !waits[*number])
      life.push_back({kind, *number});
  };
  for (Operation &op : row.step().front()) {
    if (!isa<FactorOpInterface>(op))
      continue;
    for (Value result : op.getResults())
      add(Event::Begins, result);
    if (std::optional<uint32_t> number = row.blockOf(&op))
      life.push_back({Event::BlockRuns, row.blocks()[*number].type});
    for (Value value : step.lastReadBy(&op))
      add(Event::Ends, value);
  }
}

/// What is computed again together is there together: of full recomputation a segment, of selective one what a block
/// lets go, which comes to be where its own backward pass reads it.
void BlockTable::addSegments() {
  const StepBlocks &row = input.blocks;
  for (plan::Recompute mode : {plan::Recompute::Selective, plan::Recompute::Full}) {
    Segments &found = parts[size_t(mode)];
    llvm::DenseMap<int64_t, uint32_t> names;
    llvm::SetVector<std::pair<uint32_t, uint32_t>> types;
    for (auto &[value, segment] : step.segments(mode)) {
      std::optional<uint32_t> block = row.blockOf(value.getDefiningOp());
      int64_t together =
          mode == plan::Recompute::Full ? segment : int64_t(block.value_or(uint32_t(row.blocks().size())));
      uint32_t name = names.try_emplace(together, names.size()).first->second;
      if (std::optional<uint32_t> number = block)
        types.insert({row.blocks()[*number].type, name});
      std::optional<uint32_t> number = numberOf(value);
      if (!number)
        continue;
      Value own = values[*number];
      if (step.held(plan::Recompute::None).contains(own) && step.gone(mode).contains(value) &&
          !step.logits().contains(own))
        found.values.push_back({name, *number});
    }
    found.count = names.size();
    found.types.assign(types.begin(), types.end());
  }
}

/// A stage that reads a state of a block before has a copy.
void BlockTable::addTied() {
  const StepBlocks &row = input.blocks;
  func::FuncOp function = row.step();
  for (auto read : function.getOps<graph::ReadOp>()) {
    std::optional<uint32_t> number = row.blockOf(read);
    auto state = input.states.lookup<graph::StateOp>(read.getState());
    if (!number || !state || !state.getTrainable())
      continue;
    llvm::SetVector<uint32_t> others;
    int64_t copy = step.copyBytes(read.getState());
    std::function<void(Value)> look = [&](Value value) {
      for (Operation *user : value.getUsers()) {
        if (std::optional<uint32_t> other = row.blockOf(user); other && *other != *number)
          others.insert(*other);
        // A copy in another type stands where it is first read.
        if (copy > 0 && user->getNumResults() == 1 && step.isFree(user->getResult(0)))
          look(user->getResult(0));
      }
    };
    look(read.getY());
    if (others.empty())
      continue;
    Tied each{row.representative(read)->getResult(0), row.blocks()[*number].type, copy, {}};
    for (uint32_t other : others)
      each.others.push_back(row.blocks()[other].type);
    shares.push_back(std::move(each));
  }
}

} // namespace dtcc::dist
