//===- ApplyPlan.cpp - Annotates a training step with the layouts of a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/layout/ApplyPlan.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/PositionOps.h"
#include "dialects/interfaces/Bytes.h"
#include "dialects/spmd/OnHost.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/spmd/Passes.h"
#include "passes/spmd/layout/AssignStages.h"
#include "passes/spmd/layout/BatchStatistics.h"
#include "passes/spmd/layout/FactorClasses.h"
#include "passes/spmd/layout/OrderPositions.h"
#include "passes/spmd/layout/PaddedPrediction.h"
#include "passes/spmd/layout/Padding.h"
#include "passes/spmd/layout/PartialFlow.h"
#include "passes/spmd/layout/PlanAttribute.h"
#include "passes/spmd/layout/Projection.h"
#include "passes/spmd/layout/RingAttention.h"
#include "passes/spmd/layout/WholeBatch.h"
#include "passes/spmd/reshard/ReshardPlanner.h"
#include "planner/parallelism/StateTable.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

using namespace mlir;

namespace dtcc::spmd {

namespace {

/// One run over a module.
class PlanApplier {
public:
  PlanApplier(ModuleOp module, func::FuncOp step, const plan::Plan &plan, const ProductPadding &padding)
      : module(module), step(step), plan(plan), padding(padding), batchAxes(plan.withoutUnitAxes(plan.batchAxes)),
        sequenceAxes(plan.withoutUnitAxes(plan.sequenceAxes)), classes(step), inputs(step, classes), planner(plan.mesh),
        builder(module.getContext()), wholeBatch(step, plan.mesh, placements) {}

  LogicalResult run();

private:
  LogicalResult checkPlan();
  LogicalResult checkPositions();
  LogicalResult placeOps();
  LogicalResult placeStates();
  /// Do all readers of an input want this dimension split over the sequence axes? Else it is
  /// loaded whole, from which each takes its part without communication.
  bool isSplitByAll(BlockArgument argument, int64_t dim);
  LogicalResult choosePadding();
  /// Raises the divisors of dimensions that products are slow for, where their padding does no harm.
  void padProducts();
  LogicalResult rewrite(Operation &op);
  LogicalResult rewriteFactored(Operation &op, FactorOpInterface factored);
  LogicalResult rewriteUpdate(graph::UpdateOp update);
  LogicalResult rewriteWrite(graph::WriteOp write);

  /// Axes that states may lie over: neither time nor positions.
  Axes withoutStepAxes(Axes axes) const;
  /// Places an op; returns the reason why it cannot, or nothing.
  std::optional<std::string> placeOp(Operation *op);
  /// Lets partial sums flow through `op` where they may and should.
  void choosePartial(Operation *op, const FactorMap &map, Placement &placement);
  /// Gathers the logits that an evaluation returns: every rank reports all classes.
  LogicalResult gatherPrediction(Operation &end);
  /// The layout with the padding of the value's classes.
  Layout padded(Layout layout, Value value) const;
  TensorType typeOf(Value value, const Layout &layout) const;
  /// `value` in another layout; null and a message if there is no way.
  Value reshard(Value value, const Layout &wanted, Operation *user);
  /// The same for a value that each micro-batch has a part of and all of them must know.
  Value reshardWhole(Value value, const Layout &wanted, Operation *user);

  ModuleOp module;
  func::FuncOp step;
  const plan::Plan &plan;
  const ProductPadding &padding;
  /// Axes of the plan that split samples, those of size 1 left out.
  Axes batchAxes;
  /// Axes of the plan that split positions.
  Axes sequenceAxes;
  FactorClasses classes;
  InputClasses inputs;
  ReshardPlanner planner;
  OpBuilder builder;
  FlatSymbolRefAttr mesh;

  WholeBatch::Placements placements;
  WholeBatch wholeBatch;
  llvm::StringMap<Layout> stateLayouts;
  /// Divisor of the sizes of each class, and its padded size, if there is one.
  std::vector<int64_t> divisors;
  llvm::DenseMap<unsigned, int64_t> paddedSizes;
  /// A value in the layouts that it was wanted in so far, by the step and by the evaluation.
  llvm::DenseMap<Value, SmallVector<Value>> versions[2];
};

} // namespace

Axes PlanApplier::withoutStepAxes(Axes axes) const {
  std::erase_if(axes, [&](const std::string &axis) { return plan.mesh.isTime(axis) || contains(sequenceAxes, axis); });
  return axes;
}

LogicalResult PlanApplier::checkPlan() {
  llvm::DenseMap<int64_t, Operation *> forward;
  for (Operation &op : step.getBody().front())
    if (std::optional<int64_t> origin = graph::getOrigin(&op))
      if (graph::getPhase(&op) == graph::Phase::Forward)
        forward.try_emplace(*origin, &op);
  for (const plan::OpPlan &entry : plan.ops) {
    Operation *op = forward.lookup(entry.origin);
    if (!op)
      return step.emitError() << "plan must place ops of this step, got origin: " << entry.origin;
    auto factored = dyn_cast<FactorOpInterface>(op);
    if (op->getName().getStringRef() != entry.op || !factored)
      return op->emitError() << "plan must be of this step: origin " << entry.origin << " is " << op->getName()
                             << ", got: " << entry.op;
    FactorMap map = factored.getFactorMap();
    for (const auto &[factor, axes] : entry.factors) {
      if (factor >= static_cast<int64_t>(map.factors.size()))
        return op->emitError() << "plan must name one of the " << map.factors.size() << " factors, got: " << factor;
      if (std::optional<std::string> reason = whyNotAssignable(op, map, factor))
        return op->emitError() << "plan cannot split factor " << factor << ": " << *reason;
    }
    if (entry.partial && !entry.partial->empty() && map.linear.empty())
      return op->emitError("plan lets partial sums pass an op that is not linear");
  }
  for (const plan::StatePlan &entry : plan.states) {
    auto state = module.lookupSymbol<graph::StateOp>(entry.name);
    if (!state)
      return step.emitError() << "plan must place states of this step, got: " << entry.name;
    size_t rank = cast<ShapedType>(state.getType()).getRank();
    if (entry.layout && entry.layout->size() != rank)
      return state.emitError() << "plan must lay out " << rank << " dimensions, got: " << entry.layout->size();
  }
  return success();
}

std::optional<std::string> PlanApplier::placeOp(Operation *op) {
  std::optional<int64_t> origin = graph::getOrigin(op);
  const plan::OpPlan *entry = origin ? plan.findOp(*origin) : nullptr;
  // Evaluation may compute what a forward op does by others, which have factors of their own.
  bool forward = graph::computesLoss(op) && (!entry || op->getName().getStringRef() == entry->op);
  const PlannedOp factors(op, forward);
  const std::vector<Axes> planned = factors.axesFrom([&](int64_t factor) { return plan.axesOf(entry, factor); });
  // An axis of the batch or of positions that the plan gives to a factor of this op splits that
  // instead: experts, heads.
  Axes samples = batchAxes, positions = sequenceAxes;
  for (const Axes &axes : planned)
    for (Axes *rest : {&samples, &positions})
      std::erase_if(*rest, [&](const std::string &axis) { return contains(axes, axis); });
  Placement &placement = placements[op];
  placement.factors.resize(planned.size());
  // The batch first: it is outermost. Where samples meet each other (a contrastive loss compares each with all) the
  // first factor is split over ranks, and the others are gathered; no micro-batch ever sees another.
  std::optional<size_t> batch;
  for (size_t f = 0; f < planned.size(); ++f) {
    if (!inputs.batch.contains(classes.ofFactor(op, f)) || !factors.assignable[f])
      continue;
    if (batch && llvm::any_of(samples, [&](const std::string &axis) { return plan.mesh.isTime(axis); }))
      return "samples meet each other here; they cannot be split over micro-batches: take one" +
             describeOtherRows(step);
    batch = f;
    placement.give(f, samples);
  }
  // Positions next; where there are two, queries and keys, the first.
  for (size_t f = 0; f < planned.size(); ++f)
    if (inputs.positions.contains(classes.ofFactor(op, f)) && factors.assignable[f])
      placement.give(f, positions);
  for (size_t f = 0; f < planned.size(); ++f)
    placement.give(f, planned[f]);
  const Axes used = placement.used();
  if (entry && forward && entry->partial)
    for (const std::string &axis : plan.withoutUnitAxes(*entry->partial))
      if (!contains(used, axis)) {
        placement.partial.push_back(axis);
        placement.linearSet = 0;
      }
  return whyNotGrouped(op, factors.map, placement, plan.mesh);
}

LogicalResult PlanApplier::checkPositions() {
  if (sequenceAxes.empty())
    return success();
  if (inputs.positions.empty())
    return step.emitError("has no positions to split over ")
           << llvm::join(sequenceAxes, ",")
           << ": none of its inputs are tokens of sequences; leave that axis out, got: "
           << llvm::join(sequenceAxes, ",") << "=" << plan.mesh.product(sequenceAxes);
  for (unsigned id : inputs.positions)
    if (inputs.batch.contains(id))
      return step.emitError("samples and positions meet each other; they cannot be split over different axes");
  return success();
}

LogicalResult PlanApplier::placeOps() {
  for (Operation &op : step.getBody().front())
    if (isa<FactorOpInterface>(op))
      if (std::optional<std::string> problem = placeOp(&op))
        return op.emitError(*problem);
  return success();
}

LogicalResult PlanApplier::placeStates() {
  for (Operation &op : step.getBody().front()) {
    std::optional<StringRef> state = readState(&op);
    if (!state || stateLayouts.contains(*state))
      continue;
    size_t rank = cast<ShapedType>(op.getResult(0).getType()).getRank();
    Layout layout = Layout::replicated(rank);
    const plan::StatePlan *entry = plan.findState(*state);
    if (entry && entry->layout) {
      for (size_t i = 0; i < rank; ++i)
        layout.dims[i] = plan.withoutUnitAxes((*entry->layout)[i]);
    } else {
      // As the first op that reads it wants it.
      for (OpOperand &use : op.getResult(0).getUses()) {
        auto user = dyn_cast<FactorOpInterface>(use.getOwner());
        if (!user || graph::getPhase(user) != graph::Phase::Forward)
          continue;
        FactorMap map = user.getFactorMap();
        for (auto [dim, factor] : llvm::enumerate(map.operands[use.getOperandNumber()]))
          if (factor != kNoFactor)
            layout.dims[dim] = withoutStepAxes(placements[user].factors[factor]);
      }
    }
    stateLayouts[*state] = layout;
  }
  return success();
}

bool PlanApplier::isSplitByAll(BlockArgument argument, int64_t dim) {
  if (!inputs.positions.contains(classes.ofDim(argument, dim)))
    return false;
  return llvm::all_of(argument.getUses(), [&](OpOperand &use) {
    auto user = dyn_cast<FactorOpInterface>(use.getOwner());
    int64_t factor = user ? user.getFactorMap().operands[use.getOperandNumber()][dim] : kNoFactor;
    return factor != kNoFactor && placements[user].factors[factor] == sequenceAxes;
  });
}

void PlanApplier::padProducts() {
  if (padding.multiple == 1)
    return;
  PaddableClasses paddable(step, classes);
  llvm::DenseSet<unsigned> seen(inputs.batch);
  seen.insert(inputs.others.begin(), inputs.others.end());
  for (auto &[op, placement] : placements) {
    FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
    if (!map.multiplies() || map.reducedFactors().empty())
      continue;
    for (size_t f = 0; f < map.factors.size(); ++f) {
      unsigned id = classes.ofFactor(op, f);
      int64_t part = llvm::divideCeil(map.factors[f].size, divisors[id]);
      bool isSlow = part % padding.divisor != 0 && part >= 16 * padding.multiple;
      if (isSlow && seen.insert(id).second && !paddable.obstacleOf(id))
        divisors[id] *= padding.multiple;
    }
  }
}

LogicalResult PlanApplier::choosePadding() {
  divisors.assign(classes.count(), 1);
  auto need = [&](unsigned id, const Axes &axes) { divisors[id] = std::lcm(divisors[id], plan.mesh.product(axes)); };
  for (auto &[op, placement] : placements)
    for (size_t f = 0; f < placement.factors.size(); ++f)
      need(classes.ofFactor(op, f), placement.factors[f]);
  for (auto &entry : stateLayouts)
    for (size_t i = 0; i < entry.second.dims.size(); ++i)
      need(classes.ofState(entry.first(), i), entry.second.dims[i]);
  // Whole chunks, and room for positions on the far side of what reorders them.
  bool positionsMayPad = false;
  for (auto reorder : step.getOps<graph::ReorderOp>()) {
    unsigned id = classes.ofDim(reorder.getInverse() ? reorder.getX() : reorder.getY(), reorder.getDim());
    divisors[id] = std::lcm(divisors[id], std::max<int64_t>(1, reorder.getChunks()));
    positionsMayPad = true;
  }
  padProducts();
  if (failed(checkInputSamples(step, plan.mesh.product(batchAxes))))
    return failure();
  auto choose = [&](unsigned id, int64_t size) {
    if (size % divisors[id] == 0)
      return;
    paddedSizes[id] = (size + divisors[id] - 1) / divisors[id] * divisors[id];
  };
  for (auto &[op, placement] : placements) {
    FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
    for (size_t f = 0; f < map.factors.size(); ++f)
      choose(classes.ofFactor(op, f), map.factors[f].size);
  }
  for (unsigned id : inputs.batch)
    if (paddedSizes.contains(id))
      return step.emitError("samples cannot be padded: the batch must divide by ")
             << divisors[id] << ", because dimensions of its class are split so";
  for (unsigned id : inputs.positions)
    if (paddedSizes.contains(id) && !positionsMayPad)
      return step.emitError("positions cannot be padded here: a sequence must divide by ")
             << divisors[id] << ", bind another length or choose another mesh";
  auto rowsOf = [&](Value value, int64_t dim) {
    auto padded = paddedSizes.find(classes.ofDim(value, dim));
    return padded == paddedSizes.end() ? cast<ShapedType>(value.getType()).getDimSize(dim) : padded->second;
  };
  if (failed(checkOrderedRows(step, rowsOf)))
    return failure();
  if (paddedSizes.empty())
    return success();
  dropPaddedPrediction(
      step, [&](Operation *op, size_t factor) { return paddedSizes.contains(classes.ofFactor(op, factor)); });
  // The first op that padding would falsify.
  PaddableClasses paddable(step, classes);
  const PaddableClasses::Obstacle *first = nullptr;
  int64_t divisor = 1;
  for (const auto &[id, size] : paddedSizes)
    if (const PaddableClasses::Obstacle *obstacle = paddable.obstacleOf(id);
        obstacle && (!first || obstacle->op->isBeforeInBlock(first->op))) {
      first = obstacle;
      divisor = divisors[id];
    }
  if (first)
    return first->op->emitError(first->why) << ", which must divide by " << divisor;
  return success();
}

Layout PlanApplier::padded(Layout layout, Value value) const {
  auto shape = cast<ShapedType>(value.getType()).getShape();
  layout.padded.assign(shape.begin(), shape.end());
  for (size_t i = 0; i < shape.size(); ++i)
    if (auto at = paddedSizes.find(classes.ofDim(value, i)); at != paddedSizes.end())
      layout.padded[i] = at->second;
  layout.normalize({shape.begin(), shape.end()});
  return layout;
}

TensorType PlanApplier::typeOf(Value value, const Layout &layout) const {
  auto shaped = cast<ShapedType>(value.getType());
  return TensorType::get(shaped.getShape(), shaped.getElementType(), mesh, layout);
}

Value PlanApplier::reshardWhole(Value value, const Layout &wanted, Operation *user) {
  if (!wholeBatch.canCompute(value)) {
    user->emitError("samples of other micro-batches are out of reach: this needs a number of the whole batch that "
                    "depends on parameters. A loss must be a sum over samples, which numbers of the data may divide: "
                    "use --microbatches=1, or --batch-losses=microbatch to take it of each micro-batch's samples");
    return {};
  }
  auto reshardAgain = [&](Value operand, const Layout &layout, Operation *reader) {
    return reshard(operand, layout, reader);
  };
  Value whole = wholeBatch.compute(value, user, reshardAgain);
  return whole ? reshard(whole, wanted, user) : Value();
}

Value PlanApplier::reshard(Value value, const Layout &wanted, Operation *user) {
  const bool ofEvaluation = graph::isEvaluation(user);
  SmallVector<Value> &sources = versions[ofEvaluation][value];
  if (sources.empty())
    sources.push_back(value);
  auto type = cast<TensorType>(value.getType());
  TensorType target = type.withLayout(wanted);
  Value best;
  double bestCost = 0;
  Operation *definer = value.getDefiningOp();
  std::optional<int64_t> home = definer ? getStage(definer) : std::nullopt, there = getStage(user);
  for (Value source : sources) {
    // In a pipeline, what a third stage made of it is not nearer.
    if (Operation *op = source.getDefiningOp(); op && source != value && getStage(op) != home && getStage(op) != there)
      continue;
    auto from = cast<TensorType>(source.getType());
    if (from == target)
      return source;
    const auto &way =
        planner.plan(from.getLayout(), target.getLayout(), {type.getShape().begin(), type.getShape().end()},
                     getElementBytes(type.getElementType()));
    if (way && (!best || way->cost < bestCost)) {
      best = source;
      bestCost = way->cost;
    }
  }
  if (!best)
    return reshardWhole(value, wanted, user);
  builder.setInsertionPoint(user);
  // A gradient goes to where its state lies as soon as it is made: what waits for it, the reduction of its bucket among
  // others, does not wait for the end of the backward pass.
  if (Operation *made = best.getDefiningOp(); made && accessesState(user, StateAccessKind::Update))
    builder.setInsertionPointAfter(made);
  auto result = ReshardOp::create(builder, user->getLoc(), target, best);
  if (ofEvaluation)
    graph::setPhase(result, graph::Phase::Evaluation);
  if (std::optional<int64_t> stage = stageOfReshard(result, user, plan.mesh))
    setStage(result, *stage);
  sources.push_back(result.getY());
  return result.getY();
}

void PlanApplier::choosePartial(Operation *op, const FactorMap &map, Placement &placement) {
  std::optional<int64_t> origin = graph::getOrigin(op);
  const plan::OpPlan *entry = origin ? plan.findOp(*origin) : nullptr;
  auto layoutOf = [](Value value) { return cast<TensorType>(value.getType()).getLayout(); };
  auto ofStep = [&](const std::string &axis) { return contains(batchAxes, axis) || contains(sequenceAxes, axis); };
  bool isGiven = entry && entry->partial && graph::computesLoss(op);
  PartialFlow{layoutOf, ofStep, isGiven}.choose(op, map, placement);
}

LogicalResult PlanApplier::rewriteFactored(Operation &op, FactorOpInterface factored) {
  FactorMap map = factored.getFactorMap();
  Placement &placement = placements[&op];
  choosePartial(&op, map, placement);
  llvm::Expected<OpLayouts> layouts = project(map, placement);
  if (!layouts)
    return op.emitError(llvm::toString(layouts.takeError()));
  for (OpOperand &operand : op.getOpOperands()) {
    Layout wanted = layouts->operands[operand.getOperandNumber()];
    wanted.padded = cast<TensorType>(operand.get().getType()).getLayout().padded;
    Value value = reshard(operand.get(), wanted, &op);
    if (!value)
      return failure();
    operand.set(value);
  }
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    result.setType(typeOf(result, padded(layouts->results[i], result)));
  return success();
}

LogicalResult PlanApplier::rewriteUpdate(graph::UpdateOp update) {
  // Partial gradients stay partial: the update phase reduces them once per step.
  SmallVector<Layout> layouts;
  llvm::StringMap<Axes> partial;
  for (auto [name, gradient] : llvm::zip_equal(update.getStates(), update.getGradients())) {
    auto state = stateLayouts.find(cast<FlatSymbolRefAttr>(name).getValue());
    if (state == stateLayouts.end())
      return update.emitError("updates a state that nothing reads: ") << name;
    Layout &wanted = layouts.emplace_back(cast<TensorType>(gradient.getType()).getLayout());
    wanted.dims = state->second.dims;
    Axes used, &all = partial[state->first()];
    for (const Axes &axes : wanted.dims)
      used.insert(used.end(), axes.begin(), axes.end());
    std::erase_if(wanted.partial, [&](const std::string &axis) { return contains(used, axis); });
    for (const std::string &axis : wanted.partial)
      if (!plan.mesh.isTime(axis) && !contains(all, axis))
        all.push_back(axis);
  }
  for (auto [i, name] : llvm::enumerate(update.getStates())) {
    OpOperand &gradient = update.getGradientsMutable()[i];
    Layout wanted = layouts[i];
    // The parts that several stages make of one gradient are added up alike.
    for (const std::string &axis : partial[cast<FlatSymbolRefAttr>(name).getValue()])
      if (!contains(wanted.partial, axis))
        wanted.partial.push_back(axis);
    llvm::sort(wanted.partial);
    Value value = reshard(gradient.get(), wanted, update);
    if (!value)
      return failure();
    gradient.set(value);
  }
  update.getNorm().setType(typeOf(update.getNorm(), Layout::replicated(0)));
  return success();
}

LogicalResult PlanApplier::rewriteWrite(graph::WriteOp write) {
  Layout wanted = cast<TensorType>(write.getX().getType()).getLayout();
  auto state = stateLayouts.find(write.getState());
  if (state == stateLayouts.end())
    return write.emitError("writes a state that nothing reads");
  wanted.dims = state->second.dims;
  wanted.partial.clear();
  Value value = reshard(write.getX(), wanted, write);
  if (!value)
    return failure();
  write.getXMutable().assign(value);
  return success();
}

LogicalResult PlanApplier::gatherPrediction(Operation &end) {
  for (OpOperand &operand : end.getOpOperands()) {
    Layout whole = cast<TensorType>(operand.get().getType()).getLayout();
    if (whole.dims.empty())
      continue;
    llvm::for_each(whole.dims, [](Axes &axes) { axes.clear(); });
    Value value = reshard(operand.get(), whole, &end);
    if (!value)
      return failure();
    graph::setPhase(value.getDefiningOp(), graph::Phase::Evaluation);
    operand.set(value);
  }
  return success();
}

LogicalResult PlanApplier::rewrite(Operation &op) {
  if (std::optional<StringRef> state = readState(&op)) {
    Value read = op.getResult(0);
    read.setType(typeOf(read, padded(stateLayouts[*state], read)));
    return success();
  }
  if (auto update = dyn_cast<graph::UpdateOp>(op))
    return rewriteUpdate(update);
  if (auto write = dyn_cast<graph::WriteOp>(op))
    return rewriteWrite(write);
  if (auto factored = dyn_cast<FactorOpInterface>(op))
    return rewriteFactored(op, factored);
  if (op.hasTrait<OpTrait::IsTerminator>())
    return gatherPrediction(op);
  return op.emitError("cannot be distributed in this version");
}

LogicalResult PlanApplier::run() {
  if (failed(checkPlan()) || failed(checkPositions()) || failed(placeOps()) || failed(placeStates()) ||
      failed(choosePadding()))
    return failure();
  builder.setInsertionPointToStart(module.getBody());
  SmallVector<Attribute> axes;
  for (const MeshAxis &axis : plan.mesh.axes)
    axes.push_back(AxisAttr::get(builder.getContext(), builder.getStringAttr(axis.name), axis.size,
                                 axis.time ? AxisKind::Time : AxisKind::Rank));
  auto meshOp = MeshOp::create(builder, module.getLoc(), "mesh", builder.getArrayAttr(axes));
  mesh = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());

  for (BlockArgument argument : step.getArguments()) {
    Layout layout = Layout::replicated(cast<ShapedType>(argument.getType()).getRank());
    layout.dims[0] = batchAxes;
    for (size_t dim = 1; dim < layout.dims.size(); ++dim)
      if (isSplitByAll(argument, dim))
        layout.dims[dim] = sequenceAxes;
    argument.setType(typeOf(argument, padded(layout, argument)));
  }
  for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
    if (const plan::OpPlan *entry = plan.findOp(graph::getOrigin(&op).value_or(-1))) {
      if (entry->onHost && graph::getPhase(&op) == graph::Phase::Forward)
        op.setAttr(kOnHostAttr, builder.getUnitAttr());
      if (entry->dispatch.value_or(false))
        op.setAttr(kDispatchAttr, builder.getUnitAttr());
      if (entry->dispatch.value_or(false) && entry->capacity)
        op.setAttr(kCapacityAttr, builder.getF64FloatAttr(*entry->capacity));
    }
    if (failed(rewrite(op)))
      return failure();
  }
  step.setType(builder.getFunctionType(step.getBody().front().getArgumentTypes(),
                                       step.getBody().front().getTerminator()->getOperandTypes()));
  for (auto state : module.getOps<graph::StateOp>()) {
    auto type = cast<ShapedType>(state.getType());
    Layout layout = Layout::replicated(type.getRank());
    if (auto at = stateLayouts.find(state.getSymName()); at != stateLayouts.end()) {
      layout = at->second;
      layout.padded.assign(type.getShape().begin(), type.getShape().end());
      for (int64_t i = 0; i < type.getRank(); ++i)
        if (auto size = paddedSizes.find(classes.ofState(state.getSymName(), i)); size != paddedSizes.end())
          layout.padded[i] = size->second;
    }
    state->setAttr(kLayoutAttr, TypeAttr::get(TensorType::get(type.getShape(), type.getElementType(), mesh, layout)));
    const plan::StatePlan *entry = plan.findState(state.getSymName());
    Axes flat;
    int64_t zero = entry && entry->zero ? *entry->zero : plan.zero;
    // A frozen parameter has a compute copy alone.
    if (state.getTrainable() ? zero > 0
                             : plan::stateRow(zero).compute && state.getRole() == graph::StateRole::parameter)
      for (const std::string &axis : plan.withoutUnitAxes(plan.flatAxes))
        if (!layout.uses(axis))
          flat.push_back(axis);
    if (!flat.empty()) {
      state->setAttr(kFlatAttr, fromAxes(builder.getContext(), flat));
      state->setAttr(kZeroAttr, builder.getI64IntegerAttr(zero));
    }
    if (plan.gradients == plan::GradientType::BF16 && state.getTrainable() && type.getElementType().isF32())
      state->setAttr(kGradientAttr, TypeAttr::get(builder.getBF16Type()));
    if (plan.offload.optimizer && state.getTrainable())
      state->setAttr(kOffloadAttr, builder.getUnitAttr());
  }
  module->setAttr(kPlanAttr, toAttribute(builder.getContext(), plan, mesh));
  return success();
}

LogicalResult applyPlan(ModuleOp module, const plan::Plan &plan, const ProductPadding &padding) {
  func::FuncOp step = graph::findStep(module);
  if (!step)
    return failure();
  if (module.getOps<MeshOp>().begin() != module.getOps<MeshOp>().end())
    return module.emitError("is distributed already: it has an spmd.mesh");
  if (llvm::Error error = plan.check())
    return module.emitError(llvm::toString(std::move(error)));
  if (std::string why = plan.whyNoProgram(); !why.empty())
    return module.emitError("the plan cannot be compiled: ") << why;
  if (plan.pipeline && failed(assignStages(step, *plan.pipeline)))
    return failure();
  if (failed(markRings(step, plan)) || failed(orderPositions(step, plan)))
    return failure();
  return PlanApplier(module, step, plan, padding).run();
}

} // namespace dtcc::spmd
