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

/// The events of a step, without those that tell nothing new. Blocks that are alike follow each other with equal
/// events. If as many of each value begin as end in them, the same values are alive at each of them, and two stand for
/// all: at the first another gradient than at the rest may still wait to be reduced.
class EventList {
public:
  using Event = BlockTable::Event;
  /// The events that follow are those of a block, or of what stands between two.
  void enter(std::optional<uint32_t> block) {
    if (!begins.empty() && entered == block)
      return;
    dropThird();
    entered = block;
    begins.push_back(events.size());
  }
  void add(Event event) { events.push_back(event); }
  std::vector<Event> take() {
    dropThird();
    return std::move(events);
  }

private:
  llvm::ArrayRef<Event> before(size_t count) const {
    const size_t at = begins.size() - count, end = count == 1 ? events.size() : begins[at + 1];
    return llvm::ArrayRef(events).slice(begins[at], end - begins[at]);
  }
  static bool isBalanced(llvm::ArrayRef<Event> block) {
    llvm::SmallDenseMap<uint32_t, int64_t> living;
    for (const Event &event : block)
      if (event.kind != Event::BlockRuns)
        living[event.number] += event.kind == Event::Begins ? 1 : -1;
    return llvm::all_of(living, [](const auto &each) { return each.second == 0; });
  }
  void dropThird() {
    if (begins.size() < 3 || before(1) != before(2) || before(1) != before(3) || !isBalanced(before(1)))
      return;
    events.resize(begins.back());
    begins.pop_back();
  }

  std::vector<Event> events;
  /// Where the events of each block begin that was entered.
  std::vector<size_t> begins;
  std::optional<uint32_t> entered;
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
  EventList list;
  for (auto [run, ended] : llvm::zip_equal(order.runs, ends)) {
    std::optional<uint32_t> block = row.blockOf(run.op);
    list.enter(block);
    for (Value result : run.op->getResults())
      if (std::optional<uint32_t> number = counted(result, run.isAgain))
        list.add({Event::Begins, *number});
    if (block)
      list.add({Event::BlockRuns, row.blocks()[*block].type});
    for (uint32_t number : ended)
      list.add({Event::Ends, number});
  }
  lives[size_t(mode)] = list.take();
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
