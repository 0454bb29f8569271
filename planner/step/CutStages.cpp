//===- CutStages.cpp - Where a pipeline may cut a step into stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/step/CutStages.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/Bytes.h"

using namespace mlir;

namespace dtcc::spmd {

static bool isForward(Operation &op) { return graph::getOrigin(&op) && graph::getPhase(&op) == graph::Phase::Forward; }

static double bytesOf(Value value) { return double(getBytes(cast<ShapedType>(value.getType()))); }

namespace {
/// The forward ops of a step in order, with what a cut between two of them would send.
class ForwardPass {
public:
  explicit ForwardPass(func::FuncOp step) {
    readOps(step);
    findCrossing();
  }
  std::vector<StepPiece> pieces() const;

private:
  void readOps(func::FuncOp step);
  void findCrossing();
  llvm::DenseSet<size_t> cuts() const;
  /// Activations depend on data and on states: those of data alone are inputs, and of states alone parameters.
  bool isActivation(Value value) const { return inputs.contains(value) && states.contains(value); }

  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> positions;
  /// Values that depend on data, and on states.
  llvm::DenseSet<Value> inputs, states;
  /// Ops on data that read a trainable parameter, directly or through what is made of it alone.
  llvm::DenseSet<Operation *> weighty;
  /// An activation, and the ops from `first` to `last` before which a cut would send it.
  struct Life {
    Value value;
    size_t first, last;
  };
  std::vector<Life> lives;
  /// Bytes that a cut before each op would send.
  std::vector<double> crossing;
};
} // namespace

void ForwardPass::readOps(func::FuncOp step) {
  llvm::DenseSet<Value> trained; // made of trainable parameters alone
  auto module = step->getParentOfType<ModuleOp>();
  for (Operation &op : step.getBody().front()) {
    if (!isForward(op))
      continue;
    bool input = false, state = false, parameter = false;
    for (Value operand : op.getOperands()) {
      input |= !operand.getDefiningOp() || inputs.contains(operand);
      state |= states.contains(operand);
      parameter |= trained.contains(operand);
    }
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      state = true;
      parameter = module.lookupSymbol<graph::StateOp>(read.getState()).getTrainable();
    }
    for (Value result : op.getResults()) {
      if (input)
        inputs.insert(result);
      if (state)
        states.insert(result);
      if (parameter && !input)
        trained.insert(result);
    }
    if (parameter && input)
      weighty.insert(&op);
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
}

void ForwardPass::findCrossing() {
  crossing.assign(ops.size() + 1, 0);
  for (auto [i, op] : llvm::enumerate(ops))
    for (Value result : op->getResults()) {
      if (!isActivation(result))
        continue;
      size_t last = i;
      for (Operation *user : result.getUsers())
        if (auto at = positions.find(user); at != positions.end())
          last = std::max(last, at->second);
      for (size_t place = i + 1; place <= last; ++place)
        crossing[place] += bytesOf(result);
      lives.push_back({result, i + 1, last});
    }
}

/// The ops on activations before which a cut sends no more bytes than before their neighbours.
llvm::DenseSet<size_t> ForwardPass::cuts() const {
  SmallVector<size_t> places;
  for (auto [i, op] : llvm::enumerate(ops))
    if (llvm::any_of(op->getOperands(), [&](Value value) { return isActivation(value); }))
      places.push_back(i);
  llvm::DenseSet<size_t> least;
  for (size_t i = 0; i < places.size(); ++i) {
    const double here = crossing[places[i]];
    if (here > 0 && (i == 0 || here <= crossing[places[i - 1]]) &&
        (i + 1 == places.size() || here <= crossing[places[i + 1]]))
      least.insert(places[i]);
  }
  return least;
}

std::vector<StepPiece> ForwardPass::pieces() const {
  const llvm::DenseSet<size_t> least = cuts();
  std::vector<StepPiece> pieces;
  bool hasParameter = false;
  for (auto [i, op] : llvm::enumerate(ops)) {
    if (pieces.empty() || (hasParameter && least.contains(i))) {
      pieces.push_back({*graph::getOrigin(op), {}});
      for (const Life &life : lives)
        if (life.first <= i && i <= life.last)
          pieces.back().entering.push_back(life.value);
      hasParameter = false;
    }
    hasParameter |= weighty.contains(op);
  }
  if (pieces.size() > 1 && !hasParameter)
    pieces.pop_back();
  return pieces;
}

std::vector<StepPiece> findPieces(func::FuncOp step) { return ForwardPass(step).pieces(); }

} // namespace dtcc::spmd
