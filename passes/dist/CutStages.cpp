//===- CutStages.cpp - Where a pipeline cuts a step into stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/dist/CutStages.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/OpInterfaces.h"

using namespace mlir;

namespace dtcc::dist {

namespace {
/// Forward ops between two places where the step may be cut.
struct Piece {
  int64_t origin = 0; // of its first op
  double seconds = 0;
  /// To send what crosses its beginning.
  double message = 0;
};

class PieceFinder {
public:
  PieceFinder(func::FuncOp step, const cost::Machine &machine) : step(step), machine(machine) {}
  std::vector<Piece> find();

private:
  static bool isForward(Operation &op) {
    return graph::getOrigin(&op) && graph::getPhase(&op) == graph::Phase::Forward;
  }
  static double bytesOf(Value value) {
    auto type = cast<ShapedType>(value.getType());
    return double(type.getNumElements()) * ((type.getElementTypeBitWidth() + 7) / 8);
  }
  double secondsOf(Operation &op) const {
    auto work = dyn_cast<WorkOpInterface>(op);
    auto factored = dyn_cast<FactorOpInterface>(op);
    if (!work || !factored)
      return 0;
    SmallVector<int64_t> sizes;
    FactorMap map = factored.getFactorMap();
    for (const Factor &factor : map.factors)
      sizes.push_back(factor.size);
    double bytes = 0;
    for (Value value : op.getOperands())
      bytes += bytesOf(value);
    for (Value value : op.getResults())
      bytes += bytesOf(value);
    return machine.secondsForWork(work.getFlops(sizes), bytes);
  }

  func::FuncOp step;
  const cost::Machine &machine;
};
} // namespace

std::vector<Piece> PieceFinder::find() {
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
  // What crosses the place before op i: activations made before it and read from there on.
  std::vector<double> crossing(forward.size() + 1);
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
    }
  // Only before an op on activations, where no less crosses beside it.
  SmallVector<size_t> places;
  for (auto [i, op] : llvm::enumerate(forward))
    if (llvm::any_of(op->getOperands(), [&](Value value) { return inputs.contains(value) && states.contains(value); }))
      places.push_back(i);
  llvm::DenseSet<size_t> least;
  for (size_t i = 0; i < places.size(); ++i)
    if (crossing[places[i]] > 0 && (i == 0 || crossing[places[i]] <= crossing[places[i - 1]]) &&
        (i + 1 == places.size() || crossing[places[i]] <= crossing[places[i + 1]]))
      least.insert(places[i]);
  std::vector<Piece> pieces;
  bool hasParameter = false;
  for (auto [i, op] : llvm::enumerate(forward)) {
    if (pieces.empty() || (hasParameter && least.contains(i))) {
      pieces.push_back({*graph::getOrigin(op), 0, machine.secondsForTransfer(crossing[i])});
      hasParameter = false;
    }
    pieces.back().seconds += secondsOf(*op);
    hasParameter |= weighty.contains(op);
  }
  if (pieces.size() > 1 && !hasParameter) {
    pieces[pieces.size() - 2].seconds += pieces.back().seconds;
    pieces.pop_back();
  }
  return pieces;
}

FailureOr<std::vector<int64_t>> cutStages(func::FuncOp step, int64_t stages, const cost::Machine &machine) {
  std::vector<Piece> pieces = PieceFinder(step, machine).find();
  int64_t count = pieces.size();
  if (count < stages) {
    step.emitError("can be cut into at most ") << count << " stages that each train a parameter, got: " << stages;
    return failure();
  }
  // Backward costs twice the work; a stage sends what crosses its end, and the gradient of what crosses its beginning.
  std::vector<double> sums(count + 1);
  for (int64_t i = 0; i < count; ++i)
    sums[i + 1] = sums[i] + pieces[i].seconds;
  auto cost = [&](int64_t begin, int64_t end) {
    return 3 * (sums[end] - sums[begin]) + (begin ? pieces[begin].message : 0) +
           (end < count ? pieces[end].message : 0);
  };
  // best[k][i]: the slowest of k stages over the first i pieces.
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(count + 1, INFINITY));
  std::vector<std::vector<int64_t>> from(stages + 1, std::vector<int64_t>(count + 1));
  best[0][0] = 0;
  for (int64_t k = 1; k <= stages; ++k)
    for (int64_t end = k; end <= count; ++end)
      for (int64_t begin = k - 1; begin < end; ++begin)
        if (double slowest = std::max(best[k - 1][begin], cost(begin, end)); slowest < best[k][end]) {
          best[k][end] = slowest;
          from[k][end] = begin;
        }
  std::vector<int64_t> cuts;
  for (int64_t k = stages, end = count; k > 1; --k) {
    end = from[k][end];
    cuts.insert(cuts.begin(), pieces[end].origin);
  }
  return cuts;
}

} // namespace dtcc::dist
