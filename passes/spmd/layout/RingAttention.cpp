//===- RingAttention.cpp - Attention to keys that other ranks hold
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/layout/RingAttention.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/PositionOps.h"

using namespace mlir;

namespace dtcc::spmd {

std::optional<std::string> whyNotRing(Operation *op) {
  auto attention = dyn_cast<graph::AttentionOp>(op);
  if (!attention)
    return "only the keys of attention go around a ring";
  if (attention.getBias())
    return "attention with a bias cannot be a ring in this version";
  auto positions = [](Value value) { return cast<ShapedType>(value.getType()).getDimSize(1); };
  if (positions(attention.getQ()) != positions(attention.getK()))
    return "a ring needs as many keys as queries";
  return std::nullopt;
}

LogicalResult markRings(func::FuncOp step, const plan::Plan &plan) {
  for (Operation &op : step.getBody().front()) {
    std::optional<int64_t> origin = graph::getOrigin(&op);
    const plan::OpPlan *entry = origin ? plan.findOp(*origin) : nullptr;
    if (!entry || !entry->ring)
      continue;
    if (graph::getPhase(&op) == graph::Phase::Forward)
      if (std::optional<std::string> reason = whyNotRing(&op))
        return op.emitError(*reason);
    if (auto sequence = dyn_cast<SequenceOpInterface>(op); sequence && sequence.attends())
      op.setAttr(graph::kRingAttr, UnitAttr::get(op.getContext()));
  }
  return success();
}

namespace {

/// One attention or gradient that is being taken apart.
template <typename Op> class PartEmitter {
public:
  PartEmitter(OpBuilder &builder, Op op, const FactorMap &map, const Placement &placement, ArrayRef<Value> operands)
      : builder(builder), op(op), loc(op.getLoc()), operands(operands) {
    const Axes &axes = placement.factors[map.operands[0][1]];
    if (!axes.empty())
      rows = fromAxes(builder.getContext(), axes);
    if (rows && op->hasAttr(graph::kRingAttr)) {
      keys = rows;
      blocks = findMesh(builder.getInsertionBlock()->getParentOp())->product(axes);
    }
    block.assign(operands.begin() + 1, operands.begin() + 3 + op.getMaskOperands().size());
    // Segments of queries stay where the queries are.
    if (op.getMask().getSegment()) {
      auto ofQueries = block.end() - 2;
      querySegments = *ofQueries;
      block.erase(ofQueries);
    }
  }

  int64_t blocks = 1;

  /// The block of keys, values and what masks read of keys that step `number` works on. The next one is sent for
  /// before, so that it may come meanwhile.
  SmallVector<Value> take(int64_t number) {
    SmallVector<Value> now = block;
    if (number + 1 < blocks)
      for (Value &value : block)
        value = shift(value);
    return now;
  }
  Value shift(Value value) { return ShiftOp::create(builder, loc, value.getType(), value, keys); }

  template <typename Part>
  SmallVector<Value> part(int64_t number, TypeRange types, ArrayRef<Value> now, ArrayRef<Value> rest, ValueRange onto) {
    auto chunks = op->template getAttrOfType<IntegerAttr>(graph::kChunksAttr);
    auto length = [&](Value side) { return i64(cast<ShapedType>(side.getType()).getDimSize(1)); };
    OperationState state(loc, Part::getOperationName());
    Value q = operands[0], k = now[0], v = now[1];
    SmallVector<Value> masks(now.drop_front(2));
    if (querySegments)
      masks.insert(masks.end() - 1, querySegments);
    if constexpr (std::is_same_v<Part, graph::AttentionPartOp>)
      Part::build(builder, state, types, q, k, v, masks, onto, op.getMask(), op.getScaleAttr(), op.getSoftcapAttr(),
                  op.getEmptyRowAttr(), length(op.getK()), length(op.getQ()), i64(number),
                  i64(chunks ? chunks.getInt() : 0), rows, keys);
    else
      Part::build(builder, state, types, q, k, v, masks, rest[0], rest[1], rest[2], onto, op.getMask(),
                  op.getScaleAttr(), op.getSoftcapAttr(), op.getEmptyRowAttr(), length(op.getK()), length(op.getQ()),
                  i64(number), i64(chunks ? chunks.getInt() : 0), rows, keys);
    return builder.create(state)->getResults();
  }

  /// Sums over parts are f32, whatever is multiplied.
  SmallVector<Type> wide(ArrayRef<Type> types) const {
    SmallVector<Type> result;
    for (Type type : types) {
      auto shaped = cast<RankedTensorType>(type);
      bool half = shaped.getElementType().isBF16() || shaped.getElementType().isF16();
      result.push_back(half ? shaped.clone(builder.getF32Type()) : shaped);
    }
    return result;
  }
  SmallVector<Value> narrow(ArrayRef<Value> values, ArrayRef<Type> types) {
    SmallVector<Value> result;
    for (auto [value, type] : llvm::zip_equal(values, types))
      result.push_back(value.getType() == type ? value : graph::CastOp::create(builder, loc, type, value).getResult());
    return result;
  }

private:
  IntegerAttr i64(int64_t value) { return builder.getI64IntegerAttr(value); }

  OpBuilder &builder;
  Op op;
  Location loc;
  ArrayRef<Value> operands;
  ArrayAttr rows, keys;
  SmallVector<Value> block;
  Value querySegments;
};

} // namespace

/// Rings, other orders, and what is padded.
static bool needsParts(OpBuilder &builder, Operation *op, const FactorMap &map, const Placement &placement,
                       ArrayRef<Value> operands) {
  const Axes &axes = placement.factors[map.operands[0][1]];
  if (op->hasAttr(graph::kChunksAttr) || (op->hasAttr(graph::kRingAttr) && !axes.empty()))
    return true;
  auto rows = [](Value value) { return cast<ShapedType>(value.getType()).getDimSize(1); };
  int64_t shards = axes.empty() ? 1 : findMesh(builder.getInsertionBlock()->getParentOp())->product(axes);
  return rows(operands[0]) * shards != rows(op->getOperand(0)) || rows(operands[1]) != rows(op->getOperand(1));
}

std::optional<SmallVector<Value>> emitAttentionParts(OpBuilder &builder, Operation *op, const FactorMap &map,
                                                     const Placement &placement, ArrayRef<Value> operands,
                                                     ArrayRef<Type> types) {
  auto sequence = dyn_cast<SequenceOpInterface>(op);
  if (!sequence || !sequence.attends() || !needsParts(builder, op, map, placement, operands))
    return std::nullopt;
  SmallVector<Value> sums;
  if (auto attention = dyn_cast<graph::AttentionOp>(op)) {
    PartEmitter emitter(builder, attention, map, placement, operands);
    for (int64_t i = 0; i < emitter.blocks; ++i)
      sums = emitter.part<graph::AttentionPartOp>(i, emitter.wide(types), emitter.take(i), {}, sums);
    return emitter.narrow(sums, types);
  }
  PartEmitter emitter(builder, cast<graph::AttentionGradOp>(op), map, placement, operands);
  for (int64_t i = 0; i < emitter.blocks; ++i) {
    sums =
        emitter.part<graph::AttentionPartGradOp>(i, emitter.wide(types), emitter.take(i), operands.take_back(3), sums);
    // Gradients of keys go with the keys, and home from the last.
    if (emitter.blocks > 1)
      for (unsigned key : {1, 2})
        sums[key] = emitter.shift(sums[key]);
  }
  return emitter.narrow(sums, types);
}

} // namespace dtcc::spmd
