//===- PhaseOps.cpp - The ops of the phases of a program
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the ops of a step on local tensors, phase by phase. Views of states, constants and broadcasts are made again in
// each phase that wants them, to save memory.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Origin.h"
#include "dialects/interfaces/Bytes.h"
#include "dialects/spmd/OnHost.h"
#include "mlir/IR/Matchers.h"
#include "passes/spmd/partition/DispatchExperts.h"
#include "passes/spmd/partition/ProgramBuilder.h"
#include "passes/spmd/partition/StateValues.h"
#include "passes/spmd/partition/UpdatePhase.h"
#include "passes/spmd/reshard/EmitMoves.h"

using namespace mlir;

namespace dtcc::spmd {

Value ProgramBuilder::local(Value value) {
  if (!isRemade(value))
    return values.lookup(value);
  if (Value made = remade.lookup(value))
    return made;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    emitInput(argument);
    return remade[value] = values.lookup(value);
  }
  if (std::optional<StringRef> state = readState(value.getDefiningOp()))
    return remade[value] = buckets.read(builder, value.getLoc(), *buckets.find(*state));
  if (ElementsAttr cells; matchPattern(value, m_Constant(&cells)))
    return remade[value] = emitConstant(builder, value.getLoc(), cells, localTypeOf(value));
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
  if (current != Prologue && mesh.slots() > 1 && !differs)
    x = ZeroFillOp::create(builder, value.getLoc(), x.getType(), x, fromAxes(builder.getContext(), {*time}));
  for (auto [bucket, offset] : at->second)
    AccumulateOp::create(builder, value.getLoc(), x, bucket, builder.getI64IntegerAttr(offset));
}

void ProgramBuilder::emitInput(BlockArgument argument) {
  auto name = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.name");
  if (!name)
    name = builder.getStringAttr("input" + Twine(argument.getArgNumber()));
  values[argument] =
      InputOp::create(builder, argument.getLoc(), localTypeOf(argument), name, TypeAttr::get(argument.getType()),
                      step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role"),
                      step.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(), "graph.bounds"));
}

/// Marks the offloaded value of a forward op. It is offloaded in whatever layout and on whatever stage it is kept.
void ProgramBuilder::markWaiting(Value value) {
  Operation *source = value.getDefiningOp(), *made = values[value].getDefiningOp();
  while (auto reshard = dyn_cast_or_null<ReshardOp>(source))
    source = reshard.getX().getDefiningOp();
  if (source && made && source->hasAttr(kOnHostAttr))
    made->setAttr(kOnHostAttr, builder.getUnitAttr());
}

void ProgramBuilder::receive(const StageEdge &edge) {
  for (Value value : edge.values) {
    values[value] = ReceiveOp::create(builder, value.getLoc(), localTypeOf(value), edge.from.rank,
                                      builder.getStringAttr(stages->axis()), edge.channel);
    markWaiting(value);
  }
}

void ProgramBuilder::send(const StageEdge &edge) {
  for (Value value : edge.values)
    SendOp::create(builder, value.getLoc(), local(value), edge.to.rank, builder.getStringAttr(stages->axis()),
                   edge.channel);
}

LogicalResult ProgramBuilder::emitReshard(ReshardOp op) {
  Layout from = op.getX().getType().getLayout(), to = op.getType().getLayout();
  ArrayRef<int64_t> shape = op.getType().getShape();
  if (SplatElementsAttr cells; to.partial.empty() && matchPattern(op.getX(), m_Constant(&cells))) {
    values[op.getY()] = emitConstant(builder, op.getX().getLoc(), cells, localTypeOf(op.getY()));
    return success();
  }
  const auto &way =
      planner.plan(from, to, {shape.begin(), shape.end()}, getElementBytes(op.getType().getElementType()));
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
  if (endsStep(&op) || accessesState(&op, StateAccessKind::Write) ||
      (op.getNumResults() == 1 && isRemade(op.getResult(0))))
    return success();
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    if (failed(emitReshard(reshard)))
      return failure();
  } else if (isa<FactorOpInterface>(op)) {
    if (!emitFactored(op))
      return failure();
  } else if (isa<CommunicationOpInterface>(op)) {
    values[op.getResult(0)] =
        emitRows(builder, &op, local(op.getOperand(0)), local(op.getOperand(1)), localTypeOf(op.getResult(0)));
  } else {
    return op.emitError("has no local form in this version");
  }
  for (Value result : op.getResults()) {
    markWaiting(result);
    accumulate(result);
  }
  return success();
}

LogicalResult ProgramBuilder::emitPhase(int64_t phase) {
  current = phase;
  remade.clear();
  if (phase >= Microbatch && !stages)
    for (BlockArgument argument : step.getArguments()) {
      emitInput(argument);
      accumulate(argument);
    }
  ArrayRef<StageEdge> edges = stages ? stages->edges() : ArrayRef<StageEdge>();
  for (const StageEdge &edge : edges)
    if (edge.to == PhasePlace{stage, phase})
      receive(edge);
  // The update sums gradients over all stages with a copy, in place: where a stop_gradient leaves a copy without one,
  // what it holds is the sum of the step before.
  if (phase == Prologue + 1)
    for (StringRef state : withoutGradient)
      buckets.clearGradient(builder, step.getLoc(), state);
  for (Operation *op : opsOf[phase])
    if (failed(emitOp(*op)))
      return failure();
  for (graph::WriteOp write : writes)
    if (phases[write] == phase) {
      const StatePlace *place = buckets.find(write.getState());
      StoreOp::create(builder, write.getLoc(), local(write.getX()), buckets.all()[place->bucket].values,
                      builder.getI64IntegerAttr(place->offset));
    }
  // The loop above emits no sums of recomputed values.
  const bool evaluates = phase >= firstEvaluation;
  if (phase == Microbatch || evaluates)
    for (Operation *op : opsHere)
      if (int64_t own = phases.lookup(op); evaluates ? own == phase : own < firstEvaluation)
        for (Value result : op->getResults())
          if (isRemade(result))
            accumulate(result);
  for (const StageEdge &edge : edges)
    if (edge.from == PhasePlace{stage, phase})
      send(edge);
  return success();
}

SmallVector<Operation *> ProgramBuilder::opsWithValuesIn(int64_t phase) const {
  SmallVector<Operation *> ops(opsOf[phase].begin(), opsOf[phase].end());
  for (const StageEdge &edge : stages ? stages->edges() : ArrayRef<StageEdge>())
    if (edge.to == PhasePlace{stage, phase})
      for (Value value : edge.values)
        if (Operation *op = value.getDefiningOp())
          ops.push_back(op);
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  ops.erase(llvm::unique(ops), ops.end());
  return ops;
}

/// Phases [begin, end). What a phase computes and later ones read leaves it as results.
LogicalResult ProgramBuilder::emitPhases(Block &body, int64_t begin, int64_t end) {
  for (int64_t phase = begin; phase < end; ++phase) {
    builder.setInsertionPointToEnd(&body);
    int64_t repeat = phase == Prologue ? 1 : mesh.slots();
    auto draft = PhaseOp::create(builder, step.getLoc(), TypeRange(), phaseNames[phase], repeat);
    Block *block = &draft.getBody().emplaceBlock();
    builder.setInsertionPointToEnd(block);
    if (failed(emitPhase(phase)))
      return failure();
    // In the prologue too: a parameter of two stages may get a gradient there in one of them.
    if (phase < firstEvaluation)
      buckets.emitShares(builder, step.getLoc(), *block);
    SmallVector<Value> escaping, yielded;
    for (Operation *op : opsWithValuesIn(phase))
      for (Value result : op->getResults()) {
        Value made = values.lookup(result);
        if (made && made.getParentBlock() == block && !isRemade(result) && isReadAfter(result, phase)) {
          escaping.push_back(result);
          yielded.push_back(made);
        }
      }
    bool empty = block->empty();
    builder.setInsertionPointToEnd(block);
    YieldOp::create(builder, step.getLoc(), yielded);
    // Nothing to compute ahead, or no input gradient in a stage that begins with its parameters.
    if ((phase == Prologue || stages) && empty) {
      draft.erase();
      continue;
    }
    if (yielded.empty())
      continue;
    builder.setInsertionPoint(draft);
    auto whole = PhaseOp::create(builder, step.getLoc(), ValueRange(yielded).getTypes(), draft.getSymName(), repeat);
    whole.getBody().takeBody(draft.getBody());
    draft.erase();
    for (auto [value, result] : llvm::zip_equal(escaping, whole.getResults()))
      values[value] = result;
  }
  return success();
}

/// The phases behind the update: the loss of every micro-batch, and its sum over all ranks.
LogicalResult ProgramBuilder::emitEvaluation(Block &body) {
  emitAverageExchange(builder, body, step.getLoc(), kTakeAveragePhase, buckets);
  if (failed(emitPhases(body, firstEvaluation, int64_t(phaseNames.size()))))
    return failure();
  builder.setInsertionPointToEnd(&body);
  auto score = PhaseOp::create(builder, step.getLoc(), TypeRange(), kScorePhase, 1);
  builder.setInsertionPointToEnd(&score.getBody().emplaceBlock());
  UpdateDescription description{step.getLoc(), partialOf(evaluatedSum), partialOf(evaluatedCount), {}, 0, {}, {},
                                stage};
  emitScore(builder, description, prediction, prediction ? partialOf(prediction) : Axes());
  YieldOp::create(builder, step.getLoc(), ValueRange());
  emitAverageExchange(builder, body, step.getLoc(), kReturnAveragePhase, buckets);
  return success();
}

} // namespace dtcc::spmd
