//===- LowerToProgram.cpp - Makes the program of a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op of the step belongs to a phase: the prologue if no input reaches it and there
// are several micro-batches, else the micro-batch; the update itself is the update phase.
// Views of states, constants, and what only repeats cells (broadcasts of a bias) are made
// again in each phase that wants them: kept, they would only take memory.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Origin.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/dist/EmitMoves.h"
#include "passes/dist/LocalForms.h"
#include "passes/dist/LocalOps.h"
#include "passes/dist/Passes.h"
#include "passes/dist/UpdatePhase.h"

using namespace mlir;

namespace dtcc::dist {
#define GEN_PASS_DEF_DISTLOWERTOPROGRAM
#include "passes/dist/Passes.h.inc"

namespace {

enum PhaseNumber { Prologue, Microbatch };

/// One run over a module.
class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, func::FuncOp step, MeshOp meshOp)
      : module(module), step(step), meshOp(meshOp), mesh(toMesh(meshOp)), planner(mesh), builder(module.getContext()) {}

  LogicalResult run();

private:
  LogicalResult collect();
  void assignPhases();
  LogicalResult emitPhase(PhaseNumber phase);
  LogicalResult emitOp(Operation &op);
  LogicalResult emitReshard(ReshardOp op);
  /// False after a message.
  bool emitFactored(Operation &op);
  /// The local value of `value` in the phase being built; views and constants come to be here.
  Value local(Value value);
  void accumulate(Value value);

  /// Is `value` made again in each phase that wants it?
  bool isRemade(Value value) const;
  /// Does a micro-batch read the prologue's `value`, or something made again from it?
  bool isReadLater(Value value) const;
  RankedTensorType localTypeOf(Value value) const { return localType(cast<TensorType>(value.getType()), mesh); }

  ModuleOp module;
  func::FuncOp step;
  MeshOp meshOp;
  Mesh mesh;
  ReshardPlanner planner;
  OpBuilder builder;
  Buckets buckets;
  graph::UpdateOp update;
  Value lossSum, count;

  /// Where a value is added up: bucket and offset.
  llvm::DenseMap<Value, SmallVector<std::pair<FlatSymbolRefAttr, int64_t>>> sinks;
  llvm::DenseMap<Operation *, PhaseNumber> phases;
  PhaseNumber current = Prologue;
  /// Local values of the phases so far; of the current phase alone those made again.
  llvm::DenseMap<Value, Value> values, remade;
  PhaseOp prologue;
};

} // namespace

bool ProgramBuilder::isRemade(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<graph::ReadOp, graph::ConstantOp>(op))
    return true;
  // Movement that does not shrink what it moves, before the micro-batches.
  auto work = dyn_cast<WorkOpInterface>(op);
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!work || !factored || op->getNumResults() != 1 || phases.lookup(op) != Prologue)
    return false;
  SmallVector<int64_t> sizes;
  FactorMap map = factored.getFactorMap();
  for (const Factor &factor : map.factors)
    sizes.push_back(factor.size);
  int64_t before = 0;
  for (Value operand : op->getOperands())
    before += cast<ShapedType>(operand.getType()).getNumElements();
  return work.getFlops(sizes) == 0 && cast<ShapedType>(value.getType()).getNumElements() >= before;
}

bool ProgramBuilder::isReadLater(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<graph::UpdateOp, func::ReturnOp>(user))
      return false;
    return phases.lookup(user) == Microbatch ||
           (user->getNumResults() == 1 && isRemade(user->getResult(0)) && isReadLater(user->getResult(0)));
  });
}

LogicalResult ProgramBuilder::collect() {
  auto returned = step.getBody().front().getTerminator();
  if (returned->getNumOperands() < 2)
    return step.emitError("must return the loss as sum and count, got ") << returned->getNumOperands() << " values";
  lossSum = returned->getOperand(0);
  count = returned->getOperand(1);
  llvm::StringMap<Layout> gradients;
  for (Operation &op : step.getBody().front())
    if (auto found = dyn_cast<graph::UpdateOp>(op)) {
      if (update)
        return op.emitError("is a second update: a step has one");
      update = found;
      for (auto [name, gradient] : llvm::zip_equal(update.getStates(), update.getGradients()))
        gradients[cast<FlatSymbolRefAttr>(name).getValue()] = cast<TensorType>(gradient.getType()).getLayout();
    }
  if (update && update.getCount() != count)
    return update.emitError("must divide by the count that the step returns");
  FailureOr<Buckets> planned = Buckets::plan(module, mesh, gradients);
  if (failed(planned))
    return failure();
  buckets = std::move(*planned);
  return success();
}

void ProgramBuilder::assignPhases() {
  std::optional<std::string> time = mesh.timeAxis();
  for (Operation &op : step.getBody().front()) {
    bool perSlot = llvm::any_of(op.getOperands(), [&](Value value) {
      Operation *def = value.getDefiningOp();
      return !def || phases.lookup(def) == Microbatch;
    });
    for (Value result : op.getResults())
      perSlot |= time && cast<TensorType>(result.getType()).getLayout().uses(*time);
    // With one micro-batch nothing is gained by a prologue.
    perSlot |= mesh.slots() == 1;
    phases[&op] = perSlot && !isa<graph::ReadOp, graph::ConstantOp>(op) ? Microbatch : Prologue;
  }
}

Value ProgramBuilder::local(Value value) {
  if (!isRemade(value))
    return values.lookup(value);
  if (Value made = remade.lookup(value))
    return made;
  if (auto read = value.getDefiningOp<graph::ReadOp>()) {
    const StatePlace *place = buckets.find(read.getState());
    return remade[value] = buckets.read(builder, read.getLoc(), *place);
  }
  if (auto constant = value.getDefiningOp<graph::ConstantOp>())
    return remade[value] = emitConstant(builder, constant, localTypeOf(value));
  // `remade` may grow while operands are made.
  Value result = emitFactored(*value.getDefiningOp()) ? values.lookup(value) : Value();
  return remade[value] = result;
}

void ProgramBuilder::accumulate(Value value) {
  auto at = sinks.find(value);
  if (at == sinks.end())
    return;
  Value x = local(value);
  // A sum that does not differ between micro-batches counts once.
  std::optional<std::string> time = mesh.timeAxis();
  bool differs = time && cast<TensorType>(value.getType()).getLayout().uses(*time);
  if (current == Microbatch && mesh.slots() > 1 && !differs)
    x = ZeroFillOp::create(builder, value.getLoc(), x.getType(), x, fromAxes(builder.getContext(), {*time}));
  for (auto [bucket, offset] : at->second)
    AccumulateOp::create(builder, value.getLoc(), x, bucket, builder.getI64IntegerAttr(offset));
}

LogicalResult ProgramBuilder::emitReshard(ReshardOp op) {
  Layout from = op.getX().getType().getLayout(), to = op.getType().getLayout();
  ArrayRef<int64_t> shape = op.getType().getShape();
  if (auto constant = op.getX().getDefiningOp<graph::ConstantOp>())
    if (isa<SplatElementsAttr>(constant.getValue()) && to.partial.empty()) {
      values[op.getY()] = emitConstant(builder, constant, localTypeOf(op.getY()));
      return success();
    }
  const auto &way =
      planner.plan(from, to, {shape.begin(), shape.end()}, (op.getType().getElementTypeBitWidth() + 7) / 8);
  if (!way)
    return op.emitError("has no way to its layout, from ") << from.str() << " to " << to.str();
  Value x = local(op.getX());
  if (!x)
    return failure();
  values[op.getY()] = emitMoves(builder, op.getLoc(), way->moves, x, mesh);
  return success();
}

bool ProgramBuilder::emitFactored(Operation &op) {
  FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
  FailureOr<Placement> placement = inferPlacement(&op, map);
  if (failed(placement))
    return false;
  SmallVector<Value> operands;
  for (Value operand : op.getOperands()) {
    operands.push_back(local(operand));
    if (!operands.back())
      return false;
  }
  SmallVector<Type> types;
  for (Value result : op.getResults()) {
    types.push_back(localTypeOf(result));
    if (!types.back()) {
      op.emitError("layout must divide by the mesh, got: ") << result.getType();
      return false;
    }
  }
  SmallVector<Value> results = emitLocalOp(builder, &op, map, *placement, operands, types);
  for (auto [result, made] : llvm::zip_equal(op.getResults(), results))
    values[result] = made;
  return true;
}

LogicalResult ProgramBuilder::emitOp(Operation &op) {
  // Writes end the phase: until then states are what they were.
  if (isa<graph::UpdateOp, graph::WriteOp, func::ReturnOp>(op) ||
      (op.getNumResults() == 1 && isRemade(op.getResult(0))))
    return success();
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    if (failed(emitReshard(reshard)))
      return failure();
  } else if (isa<FactorOpInterface>(op)) {
    if (!emitFactored(op))
      return failure();
  } else {
    return op.emitError("has no local form in this version");
  }
  for (Value result : op.getResults())
    accumulate(result);
  return success();
}

LogicalResult ProgramBuilder::emitPhase(PhaseNumber phase) {
  current = phase;
  remade.clear();
  if (phase == Microbatch)
    for (BlockArgument argument : step.getArguments()) {
      auto name = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.name");
      if (!name)
        name = builder.getStringAttr("input" + Twine(argument.getArgNumber()));
      values[argument] =
          InputOp::create(builder, argument.getLoc(), localTypeOf(argument), name, TypeAttr::get(argument.getType()),
                          step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role"),
                          step.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(), "graph.bounds"));
      accumulate(argument);
    }
  for (Operation &op : step.getBody().front())
    if (phases[&op] == phase && failed(emitOp(op)))
      return failure();
  for (auto write : step.getOps<graph::WriteOp>())
    if (phases[write] == phase) {
      const StatePlace *place = buckets.find(write.getState());
      StoreOp::create(builder, write.getLoc(), local(write.getX()), buckets.all()[place->bucket].values,
                      builder.getI64IntegerAttr(place->offset));
    }
  // Sums of values that are made again have no op of their own above.
  if (phase == Microbatch)
    for (Operation &op : step.getBody().front())
      for (Value result : op.getResults())
        if (isRemade(result))
          accumulate(result);
  return success();
}

LogicalResult ProgramBuilder::run() {
  if (failed(collect()))
    return failure();
  assignPhases();
  Location loc = step.getLoc();
  builder.setInsertionPoint(step);
  int64_t slots = update ? optimizerSlots(update.getOptimizer()) : 0;
  buckets.emit(builder, loc, slots);
  auto scalars = FlatSymbolRefAttr::get(builder.getContext(), Buckets::kScalars);
  sinks[lossSum].push_back({scalars, Buckets::kLossSum});
  sinks[count].push_back({scalars, Buckets::kCount});
  if (update)
    for (auto [name, gradient] : llvm::zip_equal(update.getStates(), update.getGradients())) {
      const StatePlace *place = buckets.find(cast<FlatSymbolRefAttr>(name).getValue());
      sinks[gradient].push_back({Buckets::accumulator(buckets.all()[place->bucket]), place->offset});
    }

  auto program = ProgramOp::create(builder, loc, "program", meshOp.getSymName());
  Block &body = program.getBody().emplaceBlock();
  auto beginPhase = [&](StringRef name, int64_t repeat) {
    builder.setInsertionPointToEnd(&body);
    auto phase = PhaseOp::create(builder, loc, TypeRange(), name, repeat);
    builder.setInsertionPointToEnd(&phase.getBody().emplaceBlock());
    return phase;
  };
  auto endPhase = [&](ValueRange yielded = {}) { YieldOp::create(builder, loc, yielded); };

  // What the prologue computes and the micro-batches read leaves it as results.
  PhaseOp draft = beginPhase("prologue", 1);
  if (failed(emitPhase(Prologue)))
    return failure();
  SmallVector<Value> escaping, yielded;
  for (Operation &op : step.getBody().front())
    if (phases[&op] == Prologue)
      for (Value result : op.getResults())
        if (!isRemade(result) && values.contains(result) && isReadLater(result)) {
          escaping.push_back(result);
          yielded.push_back(values[result]);
        }
  bool empty = draft.getBody().front().empty();
  endPhase(yielded);
  if (empty) {
    draft.erase();
  } else {
    builder.setInsertionPoint(draft);
    auto whole = PhaseOp::create(builder, loc, ValueRange(yielded).getTypes(), draft.getSymName(), 1);
    whole.getBody().takeBody(draft.getBody());
    draft.erase();
    for (auto [value, result] : llvm::zip_equal(escaping, whole.getResults()))
      values[value] = result;
  }

  beginPhase("microbatch", mesh.slots());
  if (failed(emitPhase(Microbatch)))
    return failure();
  buckets.emitShares(builder, loc, *builder.getInsertionBlock());
  endPhase();

  auto partialOf = [&](Value value) {
    Axes partial = cast<TensorType>(value.getType()).getLayout().partial, result;
    for (const MeshAxis &axis : mesh.axes)
      if (!axis.time && contains(partial, axis.name))
        result.push_back(axis.name);
    return result;
  };
  beginPhase("update", 1);
  UpdateDescription description{loc, partialOf(lossSum), partialOf(count), {}, 0, {}};
  if (update) {
    description.optimizer = update.getOptimizer();
    description.clip = update.getClip().convertToDouble();
    description.lossScale = update.getLossScaleAttr();
  }
  emitUpdate(builder, description, buckets, mesh);
  endPhase();
  program.setSymName(step.getSymName());
  step.erase();
  return success();
}

namespace {
struct LowerToProgramPass : impl::DistLowerToProgramBase<LowerToProgramPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto step = module.lookupSymbol<func::FuncOp>("step");
    auto meshes = module.getOps<MeshOp>();
    if (!step || meshes.empty()) {
      module.emitError("needs a distributed function @step and a dist.mesh: run dist-apply-plan first");
      return signalPassFailure();
    }
    for (BlockArgument argument : step.getArguments())
      if (!isa<TensorType>(argument.getType())) {
        step.emitError("inputs must be !dist.tensor, got: ") << argument.getType();
        return signalPassFailure();
      }
    if (failed(ProgramBuilder(module, step, *meshes.begin()).run()))
      signalPassFailure();
  }
};
} // namespace
} // namespace dtcc::dist
