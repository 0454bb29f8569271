//===- Recompute.cpp - Let the backward pass compute activations again
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Recompute.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/Bytes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/graph/Passes.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHRECOMPUTE
#include "passes/graph/Passes.h.inc"

namespace {

class Rewriter {
public:
  Rewriter(func::FuncOp step, const RecomputeDecision &decision)
      : step(step), decision(decision), builder(step.getContext()) {
    for (BlockArgument argument : step.getArguments())
      ofInput.insert(argument);
    for (Operation &op : step.front())
      if (llvm::any_of(op.getOperands(), [&](Value value) { return ofInput.contains(value); }))
        ofInput.insert_range(op.getResults());
      else if (isa<ReadOp>(op) || llvm::any_of(op.getOperands(), [&](Value value) { return ofState.contains(value); }))
        ofState.insert_range(op.getResults());
  }
  void run();

private:
  /// `value` as the backward pass reads it.
  Value again(Value value);
  /// Whether `value` depends on states alone and is larger than they are, as a bias that is broadcast to all rows. Such
  /// a value is recomputed where it is read; otherwise it would take the memory that recomputation frees.
  bool isSpread(Value value) const;
  Value spreadAgain(Value value, int64_t segment);
  Operation *cloneOf(Operation *op, IRMapping &mapping);
  Value barrier(OpOperand &use, int64_t segment);

  func::FuncOp step;
  const RecomputeDecision &decision;
  OpBuilder builder;
  llvm::DenseSet<Value> ofInput, ofState;
  llvm::DenseMap<Value, Value> clones;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> barriers, spreads;
  /// The latest barrier of each kept value.
  llvm::DenseMap<Value, Value> behind;
};

} // namespace

/// Lies as the kept value was made; an input, as its reader wants it.
Value Rewriter::barrier(OpOperand &use, int64_t segment) {
  Value &made = barriers[{use.get(), segment}];
  if (made)
    return made;
  Operation *owner = use.get().getDefiningOp();
  SmallVector<int64_t> factors;
  if (auto producer = dyn_cast_or_null<FactorOpInterface>(owner)) {
    factors = producer.getFactorMap().results[cast<OpResult>(use.get()).getResultNumber()];
  } else {
    owner = use.getOwner();
    factors = cast<FactorOpInterface>(owner).getFactorMap().operands[use.getOperandNumber()];
  }
  auto op = BarrierOp::create(builder, use.get().getLoc(), use.get().getType(), use.get(), segment);
  setOrigin(op, *getOrigin(owner), Phase::Recompute);
  setOriginFactors(op, factors);
  behind[use.get()] = op;
  return made = op;
}

static int64_t bytesOf(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (auto type = dyn_cast<ShapedType>(value.getType()))
      bytes += getBytes(type);
  return bytes;
}

bool Rewriter::isSpread(Value value) const {
  Operation *op = value.getDefiningOp();
  return ofState.contains(value) && !isa<ReadOp>(op) && isPure(op) &&
         bytesOf(op->getResults()) > bytesOf(op->getOperands());
}

Operation *Rewriter::cloneOf(Operation *op, IRMapping &mapping) {
  Operation *clone = builder.clone(*op, mapping);
  setOrigin(clone, *getOrigin(op), Phase::Recompute);
  setOriginFactors(clone,
                   llvm::to_vector(llvm::seq<int64_t>(0, cast<FactorOpInterface>(op).getFactorMap().factors.size())));
  return clone;
}

/// Once a segment: it goes with what it is read for.
Value Rewriter::spreadAgain(Value value, int64_t segment) {
  Value &made = spreads[{value, segment}];
  if (!made) {
    IRMapping none;
    made = cloneOf(value.getDefiningOp(), none)->getResult(cast<OpResult>(value).getResultNumber());
  }
  return made;
}

Value Rewriter::again(Value value) {
  auto segment = decision.segments.find(value);
  if (segment == decision.segments.end())
    return value;
  if (Value made = clones.lookup(value))
    return made;
  Operation *op = value.getDefiningOp();
  IRMapping mapping;
  for (OpOperand &use : op->getOpOperands()) {
    Value operand = use.get();
    if (decision.segments.contains(operand))
      mapping.map(operand, again(operand));
    else if (ofInput.contains(operand))
      mapping.map(operand, barrier(use, segment->second));
    else if (isSpread(operand))
      mapping.map(operand, spreadAgain(operand, segment->second));
  }
  for (auto [result, made] : llvm::zip_equal(op->getResults(), cloneOf(op, mapping)->getResults()))
    clones[result] = made;
  return clones.lookup(value);
}

void Rewriter::run() {
  SmallVector<Operation *> backward;
  for (Operation &op : step.front().without_terminator())
    if (getPhase(&op) == Phase::InputGradient || getPhase(&op) == Phase::WeightGradient)
      backward.push_back(&op);
  for (Operation *op : backward) {
    builder.setInsertionPoint(op);
    for (OpOperand &use : op->getOpOperands())
      use.set(again(use.get()));
    // A recomputed op and a backward op may share a subexpression of a kept value, as the x - mean of a norm and of its
    // gradient. If both read the value itself, the subexpression would be kept from the forward pass on.
    for (OpOperand &use : op->getOpOperands())
      if (Value barrier = behind.lookup(use.get()))
        use.set(barrier);
  }
}

void applyRecompute(func::FuncOp step, const RecomputeDecision &decision) { Rewriter(step, decision).run(); }

/// A stage keeps the values that another stage sends. To recompute such a value, the sender would have to send it
/// again, while it may wait for the gradient.
static void keepWhatCrosses(const plan::PipelinePlan &pipeline, RecomputeDecision &decision) {
  decision.segments.remove_if([&](const auto &entry) {
    int64_t stage = pipeline.stageOf(*getOrigin(entry.first.getDefiningOp()));
    return llvm::any_of(entry.first.getUsers(), [&](Operation *user) {
      std::optional<int64_t> origin = getOrigin(user);
      return origin && !isa<UpdateOp>(user) && pipeline.stageOf(*origin) != stage;
    });
  });
}

LogicalResult recompute(func::FuncOp step, const plan::Plan &plan) {
  llvm::DenseMap<int64_t, Operation *> forward;
  for (Operation &op : step.front().without_terminator())
    if (std::optional<int64_t> origin = getOrigin(&op); origin && getPhase(&op) == Phase::Forward)
      forward[*origin] = &op;
  std::map<int64_t, bool> overrides;
  llvm::DenseSet<Value> activations = findActivations(step);
  for (const plan::OpPlan &entry : plan.ops) {
    if (!entry.recompute)
      continue;
    Operation *op = forward.lookup(entry.origin);
    if (!op)
      return step.emitError() << "plan must name forward ops of this step, got origin: " << entry.origin;
    if (*entry.recompute &&
        (!isPure(op) || !llvm::any_of(op->getResults(), [&](Value result) { return activations.contains(result); })))
      return op->emitError() << "plan can recompute only values that depend on an input and a state, got origin: "
                             << entry.origin;
    overrides[entry.origin] = *entry.recompute;
  }
  RecomputeDecision decision = decideRecompute(step, plan.recompute, overrides);
  if (plan.pipeline)
    keepWhatCrosses(*plan.pipeline, decision);
  int64_t bytes = 0;
  for (Value value : llvm::make_first_range(decision.segments))
    if (auto type = dyn_cast<RankedTensorType>(value.getType()); type && type.getElementType().isIntOrFloat())
      bytes += getBytes(type);
  remark::passed(step.getLoc(), remark::RemarkOpts::name("recomputed").category("graph-recompute"))
      << remark::metric("Values", decision.segments.size()) << remark::metric("BytesOfAllRanks", bytes);
  applyRecompute(step, decision);
  return success();
}

namespace {
struct RecomputePass : impl::GraphRecomputeBase<RecomputePass> {
  using GraphRecomputeBase::GraphRecomputeBase;
  void runOnOperation() override {
    func::FuncOp step = findStep(getOperation());
    if (!step)
      return signalPassFailure();
    std::optional<plan::Recompute> chosen = plan::parseRecompute(mode);
    if (!chosen) {
      getOperation().emitError() << "mode must be none, selective or full, got: " << mode.getValue();
      return signalPassFailure();
    }
    plan::Plan request;
    request.recompute = *chosen;
    for (int64_t origin : again)
      request.ops.emplace_back().origin = origin, request.ops.back().recompute = true;
    for (int64_t origin : keep)
      request.ops.emplace_back().origin = origin, request.ops.back().recompute = false;
    if (failed(recompute(step, request)))
      signalPassFailure();
  }
};
} // namespace
} // namespace dtcc::graph
