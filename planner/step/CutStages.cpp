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

std::vector<StepPiece> findPieces(func::FuncOp step) {
  SmallVector<Operation *> forward;
  llvm::DenseMap<Operation *, size_t> positions;
  llvm::DenseSet<Value> inputs, states;
  llvm::DenseSet<Operation *> weighty; // reads a trainable parameter, directly or through what is made of it alone
  llvm::DenseSet<Value> trained;
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
    positions[&op] = forward.size();
    forward.push_back(&op);
  }
  // Bytes that a cut before op i would send: activations made before it and read from there on.
  std::vector<double> crossing(forward.size() + 1);
  std::vector<std::pair<Value, std::pair<size_t, size_t>>> lives; // places that a value crosses: from, to
  for (auto [i, op] : llvm::enumerate(forward))
    for (Value result : op->getResults()) {
      if (!inputs.contains(result) || !states.contains(result))
        continue;
      size_t last = i;
      for (Operation *user : result.getUsers())
        if (auto at = positions.find(user); at != positions.end())
          last = std::max(last, at->second);
      for (size_t place = i + 1; place <= last; ++place)
        crossing[place] += bytesOf(result);
      lives.push_back({result, {i + 1, last}});
    }
  // A cut stands before an op on activations, where no neighbouring cut would send fewer bytes.
  SmallVector<size_t> places;
  for (auto [i, op] : llvm::enumerate(forward))
    if (llvm::any_of(op->getOperands(), [&](Value value) { return inputs.contains(value) && states.contains(value); }))
      places.push_back(i);
  llvm::DenseSet<size_t> least;
  for (size_t i = 0; i < places.size(); ++i)
    if (crossing[places[i]] > 0 && (i == 0 || crossing[places[i]] <= crossing[places[i - 1]]) &&
        (i + 1 == places.size() || crossing[places[i]] <= crossing[places[i + 1]]))
      least.insert(places[i]);
  std::vector<StepPiece> pieces;
  bool hasParameter = false;
  for (auto [i, op] : llvm::enumerate(forward)) {
    if (pieces.empty() || (hasParameter && least.contains(i))) {
      pieces.push_back({*graph::getOrigin(op), {}});
      for (auto &[value, places] : lives)
        if (places.first <= i && i <= places.second)
          pieces.back().entering.push_back(value);
      hasParameter = false;
    }
    hasParameter |= weighty.contains(op);
  }
  if (pieces.size() > 1 && !hasParameter)
    pieces.pop_back();
  return pieces;
}

} // namespace dtcc::spmd
