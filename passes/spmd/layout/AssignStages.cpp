//===- AssignStages.cpp - Gives every op of a step its stage of the pipeline
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/layout/AssignStages.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/OpInterfaces.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <set>

using namespace mlir;

namespace dtcc::spmd {

static constexpr llvm::StringLiteral kStageAttr = "stage";

std::optional<int64_t> getStage(Operation *op) {
  auto stage = op->getAttrOfType<IntegerAttr>(kStageAttr);
  return stage ? std::optional(stage.getInt()) : std::nullopt;
}

void setStage(Operation *op, int64_t stage) {
  op->setAttr(kStageAttr, IntegerAttr::get(IntegerType::get(op->getContext(), 64), stage));
}

std::optional<int64_t> stageOfReshard(ReshardOp reshard, Operation *user, const Mesh &mesh) {
  Operation *source = reshard.getX().getDefiningOp();
  std::optional<int64_t> home = source ? getStage(source) : std::nullopt, there = getStage(user);
  if (!home || !there || home == there)
    return there ? there : home;
  // A value that crosses stages is resharded on the side on which it is smaller.
  auto cells = [&](Value value) { return localType(cast<TensorType>(value.getType()), mesh).getNumElements(); };
  bool sameWay = (graph::getPhase(source) == graph::Phase::Forward) == (graph::getPhase(user) == graph::Phase::Forward);
  return sameWay && cells(reshard.getY()) <= cells(reshard.getX()) ? home : there;
}

namespace {
class StageAssigner {
public:
  StageAssigner(func::FuncOp step, const plan::PipelinePlan &pipeline)
      : body(step.getBody().front()), pipeline(pipeline), builder(step.getContext()) {}

  LogicalResult run() {
    SmallVector<Operation *> ops;
    // Differentiation keeps a forward op whose value another one replaces: the plan has the layout of its gradient.
    llvm::DenseSet<Operation *> replaced;
    for (Operation &op : body) {
      ops.push_back(&op);
      if (isOpTriviallyDead(&op))
        replaced.insert(&op);
    }
    for (Operation *op : ops)
      mark(op);
    for (graph::BarrierOp barrier : llvm::to_vector(body.getOps<graph::BarrierOp>()))
      placeBarrier(barrier);
    for (auto update : body.getOps<graph::UpdateOp>())
      if (failed(splitGradients(update)))
        return failure();
    ops.clear();
    for (Operation &op : body)
      ops.push_back(&op);
    for (Operation *op : ops)
      if (std::optional<int64_t> stage = getStage(op))
        for (OpOperand &operand : op->getOpOperands())
          operand.set(inStage(operand.get(), *stage));
    // Copies too: a stage that reads a parameter owns it, and waits for it with the other owners.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op) && !replaced.contains(&op))
        op.erase();
    return checkGradients();
  }

private:
  /// Sets the stage of an op, and what it depends on.
  void mark(Operation *op) {
    bool input = false, state = readState(op).has_value();
    for (Value operand : op->getOperands()) {
      input |= !operand.getDefiningOp() || inputs.contains(operand);
      state |= states.contains(operand);
    }
    for (Value result : op->getResults()) {
      if (input)
        inputs.insert(result);
      if (state)
        states.insert(result);
    }
    std::optional<int64_t> origin = graph::getOrigin(op);
    if (!origin || endsStep(op) || isa<graph::BarrierOp>(op))
      return;
    int64_t stage = pipeline.stageOf(*origin);
    // Written where it is made, though writes stand at the end of the step.
    if (Operation *maker = accessesState(op, StateAccessKind::Write) ? op->getOperand(0).getDefiningOp() : nullptr)
      stage = getStage(maker).value_or(stage);
    else if (!graph::computesLoss(op))
      stage = stageOfGradient(op, *origin, stage);
    else if (!isFree(op) && !graph::isEvaluation(op))
      for (Value operand : op->getOperands())
        addReader(operand, stage);
    setStage(op, stage);
  }
  /// Places a barrier in every stage that recomputes from its values: each such stage keeps them, whichever made them.
  void placeBarrier(graph::BarrierOp barrier) {
    std::map<int64_t, Operation *> byStage;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : barrier.getResult().getUses())
      uses.push_back(&use);
    for (OpOperand *use : uses) {
      int64_t stage = getStage(use->getOwner()).value_or(0);
      Operation *&own = byStage[stage];
      if (!own) {
        builder.setInsertionPointAfter(barrier);
        own = byStage.size() == 1 ? barrier.getOperation() : builder.clone(*barrier);
        setStage(own, stage);
        for (llvm::DenseSet<Value> *set : {&inputs, &states})
          if (set->contains(barrier.getResult()))
            set->insert(own->getResult(0));
      }
      use->set(own->getResult(0));
    }
  }
  /// A forward op on activations in `stage` reads `value`.
  void addReader(Value value, int64_t stage) {
    Operation *op = value.getDefiningOp();
    if (!op || !isFree(value))
      return;
    if (std::optional<int64_t> origin = graph::getOrigin(op); origin && !readers[*origin].insert(stage).second)
      return;
    for (Value operand : op->getOperands())
      addReader(operand, stage);
  }
  /// Returns the stage that computes the gradient of an op. A forward op on parameters alone is recomputed in each
  /// stage that reads it, and its gradient is computed there. For other ops the result is `stage`.
  int64_t stageOfGradient(Operation *op, int64_t origin, int64_t stage) {
    auto found = readers.find(origin);
    if (found == readers.end() || found->second.empty())
      return stage;
    for (Value operand : op->getOperands())
      if (Operation *definer = operand.getDefiningOp(); definer && !isFree(operand))
        if (std::optional<int64_t> other = getStage(definer); other && found->second.count(*other))
          return *other;
    return *found->second.begin();
  }
  bool isFree(Operation *op) const {
    return llvm::all_of(op->getResults(), [&](Value result) { return isFree(result); });
  }
  /// Whether `value` is cheaper to recompute than to send.
  bool isFree(Value value) const { return !(inputs.contains(value) && states.contains(value)); }

  /// `value` as `stage` sees it: an op of the stage itself, or an activation of another.
  Value inStage(Value value, int64_t stage) {
    Operation *op = value.getDefiningOp();
    if (!op || getStage(op) == stage || !isFree(value))
      return value;
    Operation *&copy = copies[{op, stage}];
    if (!copy) {
      builder.setInsertionPointAfter(op);
      copy = builder.clone(*op);
      setStage(copy, stage);
      for (Value result : copy->getResults()) {
        Value original = op->getResult(cast<OpResult>(result).getResultNumber());
        if (inputs.contains(original))
          inputs.insert(result);
        if (states.contains(original))
          states.insert(result);
      }
      Operation *made = copy;
      for (OpOperand &operand : made->getOpOperands()) {
        Value own = inStage(operand.get(), stage);
        operand.set(own);
        // Copies of operands stand behind their originals, and so before this one.
      }
      return made->getResult(cast<OpResult>(value).getResultNumber());
    }
    return copy->getResult(cast<OpResult>(value).getResultNumber());
  }

  using Parts = llvm::MapVector<int64_t, Value>;

  /// The sums that make up the gradient `value` of a parameter, by stage. Empty after a
  /// message.
  Parts partsOf(Value value) {
    Operation *op = value.getDefiningOp();
    std::optional<int64_t> stage = op ? getStage(op) : std::nullopt;
    Parts parts;
    if (!stage)
      return parts;
    if (auto add = dyn_cast<graph::AddOp>(op); add && graph::getPhase(op) == graph::Phase::WeightGradient) {
      parts = partsOf(op->getOperand(0));
      for (auto &[other, part] : partsOf(op->getOperand(1))) {
        Value &sum = parts[other];
        sum = sum ? addOf(op, sum, part, other) : part;
      }
      return parts;
    }
    // A linear op of one operand, of which another stage made a part: f(a + b) = f(a) + f(b).
    auto factored = dyn_cast<FactorOpInterface>(op);
    if (factored && graph::getPhase(op) == graph::Phase::WeightGradient && op->getNumOperands() == 1 &&
        op->getNumResults() == 1) {
      FactorMap map = factored.getFactorMap();
      bool linear = llvm::any_of(map.linear, [](const auto &set) { return set.size() == 1 && set.front() == 0; });
      Parts operands = linear ? partsOf(op->getOperand(0)) : Parts();
      if (operands.size() > 1) {
        for (auto &[other, part] : operands) {
          builder.setInsertionPointAfter(op);
          IRMapping mapping;
          mapping.map(op->getOperand(0), part);
          Operation *copy = builder.clone(*op, mapping);
          setStage(copy, other);
          parts[other] = copy->getResult(0);
        }
        return parts;
      }
    }
    parts[*stage] = value;
    return parts;
  }

  Value addOf(Operation *like, Value x, Value y, int64_t stage) {
    if (like->getOperand(0) == x && like->getOperand(1) == y) {
      setStage(like, stage);
      return like->getResult(0);
    }
    builder.setInsertionPointAfter(like);
    Operation *copy = builder.clone(*like);
    copy->setOperands({x, y});
    setStage(copy, stage);
    return copy->getResult(0);
  }

  /// The stages in which forward reads each state.
  llvm::DenseMap<Attribute, std::set<int64_t>> readersOfStates() {
    llvm::DenseMap<Attribute, std::set<int64_t>> stages;
    for (auto read : body.getOps<graph::ReadOp>())
      if (std::optional<int64_t> origin = graph::getOrigin(read))
        if (auto found = readers.find(*origin); found != readers.end())
          stages[read.getStateAttr()].insert(found->second.begin(), found->second.end());
    return stages;
  }

  /// Moves the parts that no activation is in, such as a constant, to a stage that reads the state.
  void moveToReaders(Parts &parts, const std::set<int64_t> &stages, graph::UpdateOp update) {
    if (stages.empty())
      return;
    Parts kept;
    SmallVector<Value> moved;
    for (auto &[stage, part] : parts)
      if (stages.count(stage) || !isFree(part))
        kept[stage] = part;
      else
        moved.push_back(part);
    auto both = llvm::find_if(kept, [&](const auto &part) { return stages.count(part.first) > 0; });
    int64_t home = both == kept.end() ? *stages.begin() : both->first;
    for (Value part : moved) {
      Value own = inStage(part, home), &sum = kept[home];
      if (sum) {
        builder.setInsertionPoint(update);
        auto add = graph::AddOp::create(builder, own.getLoc(), own.getType(), sum, own);
        if (std::optional<int64_t> origin = graph::getOrigin(sum.getDefiningOp()))
          graph::setOrigin(add, *origin, graph::Phase::WeightGradient);
        graph::setOriginFactors(add, SmallVector<int64_t>(cast<ShapedType>(own.getType()).getRank(), -1));
        setStage(add, home);
        own = add;
      }
      sum = own;
    }
    parts = std::move(kept);
  }

  LogicalResult splitGradients(graph::UpdateOp update) {
    SmallVector<Value> gradients;
    SmallVector<Attribute> names;
    const llvm::DenseMap<Attribute, std::set<int64_t>> stagesOfStates = readersOfStates();
    for (auto [name, gradient] : llvm::zip_equal(update.getStates(), update.getGradients())) {
      Parts parts = partsOf(gradient);
      if (parts.empty())
        return update.emitError("gradient of ") << name << " belongs to no stage";
      moveToReaders(parts, stagesOfStates.lookup(name), update);
      for (auto &[stage, part] : parts) {
        gradients.push_back(part);
        names.push_back(name);
      }
    }
    update.getGradientsMutable().assign(gradients);
    update.setStatesAttr(builder.getArrayAttr(names));
    return success();
  }

  /// Checks that each gradient is computed in a stage that holds its state.
  LogicalResult checkGradients() {
    std::set<std::pair<StringRef, int64_t>> held;
    for (Operation &op : body)
      if (std::optional<StringRef> state = readState(&op))
        if (std::optional<int64_t> stage = getStage(&op))
          held.insert({*state, *stage});
    for (Operation &op : body)
      for (const StateAccess &access : stateAccesses(&op))
        if (Operation *maker = access.value.getDefiningOp();
            access.kind == StateAccessKind::Update && !held.count({access.state, *getStage(maker)}))
          return maker->emitError("gradient of @") << access.state << " is made in stage " << *getStage(maker)
                                                   << ", which does not read it: cut the step elsewhere";
    return success();
  }

  Block &body;
  const plan::PipelinePlan &pipeline;
  OpBuilder builder;
  /// Values that an input reaches, and those that a state reaches.
  llvm::DenseSet<Value> inputs, states;
  /// Stages that read each forward op that depends only on parameters, or only on inputs.
  std::map<int64_t, std::set<int64_t>> readers;
  std::map<std::pair<Operation *, int64_t>, Operation *> copies;
};
} // namespace

LogicalResult assignStages(func::FuncOp step, const plan::PipelinePlan &pipeline) {
  return StageAssigner(step, pipeline).run();
}

} // namespace dtcc::spmd
