//===- BlockTable.cpp - What all prices of a step's blocks have in common
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/BlockTable.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

using namespace mlir;

namespace dtcc::spmd {

BlockTable::BlockTable(const PlacementInput &input, const StepValues &values) : input(input), step(values) {
  addOps();
  for (size_t mode = 0; mode < kRecomputeModes; ++mode)
    addEvents(plan::Recompute(mode));
  addTied();
}

SharedBy BlockTable::sharedBy(unsigned id) const {
  return input.inputs.batch.contains(id)       ? SharedBy::Batch
         : input.experts.contains(id)          ? SharedBy::Experts
         : input.inputs.positions.contains(id) ? SharedBy::Positions
                                               : SharedBy::Nothing;
}

void BlockTable::addOps() {
  const FactorClasses &classes = input.classes;
  for (Operation *op : input.blocks.uniqueOps()) {
    if (!isa<FactorOpInterface>(op))
      continue;
    Op each{PlannedOp(op), op, graph::getPhase(op), graph::getOrigin(op).value_or(-1), {}};
    for (auto [number, factor] : llvm::enumerate(each.map.factors)) {
      SharedBy shared = sharedBy(classes.ofFactor(op, number));
      // Positions that an op wants whole are gathered, exchanged or passed round for it.
      bool whole = factor.kind == FactorKind::Decompose && shared == SharedBy::Positions && !each.assignable[number];
      each.shared.push_back(whole ? SharedBy::Nothing : shared);
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

namespace {
/// A step as it runs under a mode of recomputation (passes/graph/Recompute.cpp): its ops, and before ops of the
/// backward pass those that make their operands again.
class RunOrder {
public:
  struct Run {
    Operation *op;
    bool isAgain;
  };
  RunOrder(func::FuncOp step, const StepValues::Values &gone) : gone(gone) {
    for (Operation &op : step.front()) {
      if (!isa<FactorOpInterface>(op))
        continue;
      if (readsAgain(&op))
        for (Value operand : op.getOperands())
          makeAgain(operand);
      runs.push_back({&op, false});
    }
  }
  /// Ops of the backward pass read what is made again.
  static bool readsAgain(Operation *op) { return graph::getPhase(op) != graph::Phase::Forward; }

  std::vector<Run> runs;

private:
  void makeAgain(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !gone.contains(value) || !made.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      makeAgain(operand);
    runs.push_back({op, true});
  }

  const StepValues::Values &gone;
  llvm::DenseSet<Operation *> made;
};
} // namespace

void BlockTable::addEvents(plan::Recompute mode) {
  const StepBlocks &row = input.blocks;
  const StepValues::Values &gone = step.gone(mode);
  RunOrder order(row.step(), gone);
  // Values that wait for the backward pass are held by their block. Values made once and logits are counted apart.
  llvm::DenseSet<Value> waits;
  for (Operation &op : row.step().front())
    for (Value value : op.getResults())
      if (step.waits(value, mode))
        waits.insert(StepValues::rootOf(value));
  auto counted = [&](Value value, bool isAgain) -> std::optional<uint32_t> {
    if (!value.getDefiningOp() || (!isAgain && waits.contains(value)))
      return std::nullopt;
    std::optional<uint32_t> number = numberOf(value);
    bool apart = number && (step.constants().contains(values[*number]) || step.logits().contains(values[*number]));
    return apart ? std::nullopt : number;
  };
  // Backwards: the first reader that is seen is the last.
  using Made = std::pair<Value, char>;
  auto madeFor = [&](Value operand, const RunOrder::Run &run) {
    Value root = StepValues::rootOf(operand);
    bool isAgain = gone.contains(operand) && gone.contains(root) && (run.isAgain || RunOrder::readsAgain(run.op));
    return Made(root, isAgain ? 1 : 0);
  };
  std::vector<llvm::SmallVector<uint32_t, 2>> ends(order.runs.size());
  llvm::DenseSet<Made> seen;
  for (size_t at = order.runs.size(); at-- > 0;)
    for (Value operand : order.runs[at].op->getOperands())
      if (Made made = madeFor(operand, order.runs[at]); seen.insert(made).second)
        if (std::optional<uint32_t> number = counted(made.first, made.second))
          ends[at].push_back(*number);
  // A value that nobody reads, such as a result of a recomputed segment, is gone at once.
  for (auto [run, ended] : llvm::zip_equal(order.runs, ends))
    for (Value result : run.op->getResults())
      if (!seen.contains(Made(result, run.isAgain)))
        if (std::optional<uint32_t> number = counted(result, run.isAgain))
          ended.push_back(*number);
  std::vector<Event> &life = lives[size_t(mode)];
  for (auto [run, ended] : llvm::zip_equal(order.runs, ends)) {
    for (Value result : run.op->getResults())
      if (std::optional<uint32_t> number = counted(result, run.isAgain))
        life.push_back({Event::Begins, *number});
    if (std::optional<uint32_t> number = row.blockOf(run.op))
      life.push_back({Event::BlockRuns, row.blocks()[*number].type});
    for (uint32_t number : ended)
      life.push_back({Event::Ends, number});
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

} // namespace dtcc::spmd
