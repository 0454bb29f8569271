//===- RecomputeDecision.cpp - What is kept for the backward pass
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/Shapes.h"
#include "dialects/interfaces/Bytes.h"
#include "passes/graph/Recompute.h"
#include "planner/problem/MinCut.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dtcc::graph {

/// Operations a cell of the result: above this an op is dear. A norm or an activation
/// takes 5 to 40, a product twice its inner size.
static constexpr double kDear = 48;

llvm::DenseSet<Value> findActivations(func::FuncOp step) {
  llvm::DenseSet<Value> ofInput, ofState;
  for (BlockArgument argument : step.getArguments())
    ofInput.insert(argument);
  llvm::DenseSet<Value> activations;
  for (Operation &op : step.front().without_terminator()) {
    if (getPhase(&op) != Phase::Forward)
      continue;
    bool input = llvm::any_of(op.getOperands(), [&](Value value) { return ofInput.contains(value); });
    bool state =
        isa<ReadOp>(op) || llvm::any_of(op.getOperands(), [&](Value value) { return ofState.contains(value); });
    for (Value result : op.getResults()) {
      if (input)
        ofInput.insert(result);
      if (state)
        ofState.insert(result);
      if (input && state)
        activations.insert(result);
    }
  }
  return activations;
}

static int64_t bytesOf(Value value) { return getBytes(cast<ShapedType>(value.getType())); }

static bool isBackward(Operation *op) {
  Phase phase = getPhase(op);
  return phase == Phase::InputGradient || phase == Phase::WeightGradient;
}

/// Whether another run of `op` costs about as much as reading its result from memory. Ops
/// whose parts are partial sums would have to communicate again.
static bool isCheap(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!work || !factored)
    return false;
  FactorMap map = factored.getFactorMap();
  SmallVector<int64_t> sizes;
  for (const Factor &factor : map.factors) {
    if (factor.kind == FactorKind::Reduce || factor.partial)
      return false;
    sizes.push_back(factor.size);
  }
  double cells = 1;
  for (Value result : op->getResults())
    cells = std::max(cells, double(cast<ShapedType>(result.getType()).getNumElements()));
  return work.getFlops(sizes) <= kDear * cells;
}

static std::optional<bool> overrideOf(Operation *op, const std::map<int64_t, bool> &overrides) {
  auto found = overrides.find(getOrigin(op).value_or(-1));
  return found == overrides.end() ? std::nullopt : std::optional(found->second);
}

namespace {
/// The forward pass between two waists.
struct Stretch {
  SmallVector<Value> inner;
  Value waist; // after it; null at the end
  int64_t bytes = 0;
};
} // namespace

/// Cuts the forward pass into stretches. A cut is possible where exactly one activation is live.
static std::vector<Stretch> findStretches(func::FuncOp step, const llvm::DenseSet<Value> &activations) {
  llvm::DenseMap<Operation *, int64_t> numbers;
  for (Operation &op : step.front())
    numbers[&op] = numbers.size();
  auto lastUse = [&](Value value) {
    int64_t last = -1;
    for (Operation *user : value.getUsers())
      if (getPhase(user) == Phase::Forward && !user->hasTrait<OpTrait::IsTerminator>())
        last = std::max(last, numbers.lookup(user));
    return last;
  };
  std::vector<Stretch> stretches(1);
  llvm::SmallDenseSet<Value, 8> live;
  llvm::DenseMap<int64_t, SmallVector<Value>> dying; // by the number of the last use
  for (Operation &op : step.front().without_terminator()) {
    if (getPhase(&op) != Phase::Forward)
      continue;
    int64_t number = numbers.lookup(&op);
    for (Value result : op.getResults())
      if (activations.contains(result)) {
        stretches.back().inner.push_back(result);
        stretches.back().bytes += bytesOf(result);
        if (int64_t last = lastUse(result); last > number && live.insert(result).second)
          dying[last].push_back(result);
      }
    for (Value value : dying.lookup(number))
      live.erase(value);
    if (live.size() != 1 || live.begin()->getDefiningOp() != &op)
      continue;
    Stretch &stretch = stretches.back();
    Value waist = *live.begin();
    // A segment must free at least twice the bytes that it keeps, so a classifier or a last norm is none.
    if (stretch.bytes < 2 * bytesOf(waist))
      continue;
    llvm::erase(stretch.inner, waist);
    stretch.bytes -= bytesOf(waist);
    stretch.waist = waist;
    stretches.emplace_back();
  }
  return stretches;
}

/// Keeps as few bytes as can be, given which ops may run again.
static void decideByCut(func::FuncOp step, const llvm::DenseSet<Value> &activations, bool selective,
                        const std::map<int64_t, bool> &overrides, RecomputeDecision &decision) {
  plan::MinCut cut;
  // The last stretch keeps everything, because its backward pass follows at once.
  std::vector<Stretch> stretches = findStretches(step, activations);
  llvm::DenseSet<Value> last(stretches.back().inner.begin(), stretches.back().inner.end());
  llvm::MapVector<Value, size_t> nodes;
  llvm::DenseSet<Value> again;
  for (Operation &op : step.front().without_terminator()) {
    if (getPhase(&op) != Phase::Forward)
      continue;
    std::optional<bool> forced = overrideOf(&op, overrides);
    bool mayRunAgain = op.getNumResults() > 0 && isPure(&op) &&
                       forced.value_or(selective && isCheap(&op) && !last.contains(op.getResult(0)));
    for (Value result : op.getResults()) {
      if (!activations.contains(result))
        continue;
      size_t node = cut.addNode(forced == true ? plan::MinCut::kNever : bytesOf(result));
      nodes[result] = node;
      if (!mayRunAgain)
        cut.addSource(node);
      else
        again.insert(result);
      for (Value operand : op.getOperands())
        if (mayRunAgain && nodes.contains(operand))
          cut.addEdge(nodes.lookup(operand), node);
      if (llvm::any_of(result.getUsers(), isBackward))
        cut.addSink(node);
    }
  }
  llvm::DenseSet<size_t> kept;
  for (size_t node : cut.solve())
    kept.insert(node);
  if (cut.isPossible())
    for (auto [value, node] : nodes)
      if (again.contains(value) && !kept.contains(node))
        decision.segments[value] = 0;
}

/// Groups stretches to segments of at most `limit` bytes (a single stretch may have more);
/// the bytes are those of waists that are kept and of the largest segment.
static int64_t groupStretches(ArrayRef<Stretch> stretches, int64_t limit, SmallVectorImpl<size_t> &ends) {
  int64_t kept = 0, largest = 0, current = 0;
  for (auto [i, stretch] : llvm::enumerate(stretches)) {
    int64_t waist = i ? bytesOf(stretches[i - 1].waist) : 0;
    if (i && current + waist + stretch.bytes > limit) {
      ends.push_back(i);
      kept += waist;
      current = 0;
      waist = 0;
    }
    current += waist + stretch.bytes;
    largest = std::max(largest, current);
  }
  ends.push_back(stretches.size());
  return kept + largest;
}

static void decideBySegments(func::FuncOp step, const llvm::DenseSet<Value> &activations,
                             const std::map<int64_t, bool> &overrides, RecomputeDecision &decision) {
  std::vector<Stretch> stretches = findStretches(step, activations);
  int64_t least = 1, total = 0;
  for (const Stretch &stretch : stretches) {
    least = std::max(least, stretch.bytes);
    total += stretch.bytes + (stretch.waist ? bytesOf(stretch.waist) : 0);
  }
  SmallVector<size_t> best;
  int64_t bestBytes = std::numeric_limits<int64_t>::max();
  for (double limit = double(least); limit < 1.1 * double(total); limit *= 1.05) {
    SmallVector<size_t> ends;
    int64_t bytes = groupStretches(stretches, int64_t(limit), ends);
    if (bytes < bestBytes) {
      bestBytes = bytes;
      best = ends;
    }
  }
  size_t begin = 0;
  for (auto [segment, end] : llvm::enumerate(best)) {
    bool last = segment + 1 == best.size();
    for (size_t i = begin; i < end; ++i) {
      SmallVector<Value> values(stretches[i].inner);
      if (i + 1 < end && stretches[i].waist)
        values.push_back(stretches[i].waist);
      for (Value value : values) {
        bool again = !last && isPure(value.getDefiningOp());
        if (overrideOf(value.getDefiningOp(), overrides).value_or(again))
          decision.segments[value] = int64_t(segment);
      }
    }
    begin = end;
  }
}

RecomputeDecision decideRecompute(func::FuncOp step, plan::Recompute mode, const std::map<int64_t, bool> &overrides) {
  RecomputeDecision decision;
  llvm::DenseSet<Value> activations = findActivations(step);
  if (mode == plan::Recompute::Full)
    decideBySegments(step, activations, overrides, decision);
  else if (mode == plan::Recompute::Selective || !overrides.empty())
    decideByCut(step, activations, mode == plan::Recompute::Selective, overrides, decision);
  return decision;
}

} // namespace dtcc::graph
