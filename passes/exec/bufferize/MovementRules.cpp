//===- MovementRules.cpp - Bufferization of views, joins and constants -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "passes/exec/bufferize/ConstantKernel.h"
#include "passes/exec/bufferize/OpRules.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

/// Places `result` as a view of `operand`; copies where no view can say it, or where
/// the result has a destination of its own that the operand was not written to.
static LogicalResult lowerView(Bufferizer &b, Value operand, Value result,
                               llvm::function_ref<std::optional<Place>(const Place &)> viewOf) {
  Place from = b.placeOf(operand);
  std::optional<Place> seen = viewOf(from);
  if (!seen || seen->isTorn()) {
    Place whole = b.storage.allocate(RankedTensorType::get(from.sizes, from.element), "dense");
    b.copy(from, whole);
    seen = viewOf(whole);
  }
  auto destination = b.destinationOf(result);
  if (destination && seen->type() == destination->place.type() && seen->buffer == destination->place.buffer &&
      seen->offset == destination->place.offset && b.destinationOf(operand)) {
    b.setPlace(result, *seen);
    return success();
  }
  if (!destination) {
    b.setPlace(result, *seen);
    return success();
  }
  b.setPlace(result, destination->place);
  return b.store(*seen, *destination, result.getLoc());
}

static LogicalResult lowerTranspose(graph::TransposeOp op, Bufferizer &b) {
  return lowerView(b, op.getX(), op.getY(), [&](const Place &p) { return p.transposed(op.getPermutation()); });
}
static void aimTranspose(Operation *operation, Bufferizer &b) {
  auto op = cast<graph::TransposeOp>(operation);
  auto destination = b.destinationOf(op.getY());
  if (!destination)
    return;
  b.aim(op.getX(), destination->place.transposed(invertPermutationVector(op.getPermutation())),
        destination->accumulate);
}

static LogicalResult lowerBarrier(graph::BarrierOp op, Bufferizer &b) {
  return lowerView(b, op.getX(), op.getY(), [](const Place &p) { return std::optional(p); });
}

static LogicalResult lowerReshape(graph::ReshapeOp op, Bufferizer &b) {
  return lowerView(b, op.getX(), op.getY(), [&](const Place &p) { return p.reshaped(graph::shapeOf(op.getY())); });
}
static void aimReshape(Operation *operation, Bufferizer &b) {
  auto op = cast<graph::ReshapeOp>(operation);
  auto destination = b.destinationOf(op.getY());
  if (!destination)
    return;
  if (auto place = destination->place.reshaped(graph::shapeOf(op.getX())))
    b.aim(op.getX(), *place, destination->accumulate);
}

static LogicalResult lowerBroadcast(graph::BroadcastOp op, Bufferizer &b) {
  return lowerView(b, op.getX(), op.getY(),
                   [&](const Place &p) { return p.broadcast(op.getDims(), graph::shapeOf(op.getY())); });
}

static LogicalResult lowerSlice(graph::SliceOp op, Bufferizer &b) {
  if (llvm::any_of(op.getStrides(), [](int64_t step) { return step < 1; }))
    return op.emitOpError("strides must be at least 1 to be a view");
  return lowerView(b, op.getX(), op.getY(), [&](const Place &p) {
    return p.sliced(op.getOffsets(), op.getStrides(), graph::shapeOf(op.getY()));
  });
}

static LogicalResult lowerUnstack(graph::UnstackOp op, Bufferizer &b) {
  for (auto [i, result] : llvm::enumerate(op.getYs()))
    if (failed(lowerView(b, op.getX(), result, [&](const Place &p) { return p.part(op.getDim(), i); })))
      return failure();
  return success();
}

/// The parts of a join: operands and where each lies in the whole.
template <typename Op> static Place partOf(Op op, const Place &whole, unsigned i);
template <> Place partOf(graph::StackOp op, const Place &whole, unsigned i) { return whole.part(op.getDim(), i); }
template <> Place partOf(graph::ConcatOp op, const Place &whole, unsigned i) {
  SmallVector<int64_t> offsets(whole.rank(), 0), steps(whole.rank(), 1);
  for (Value before : op.getXs().take_front(i))
    offsets[op.getDim()] += graph::shapeOf(before)[op.getDim()];
  return whole.sliced(offsets, steps, graph::shapeOf(op.getXs()[i]));
}

template <typename Op> static void aimJoin(Operation *operation, Bufferizer &b) {
  auto op = cast<Op>(operation);
  auto whole = b.ensureDestination(op.getY());
  // A part that waits for the backward pass would keep the memory of a whole that does not, where that is recomputed.
  const bool isLonger = !b.waits(op.getY()) && !llvm::all_of(op.getXs(), [&](Value part) { return b.waits(part); });
  for (auto [i, x] : llvm::enumerate(op.getXs()))
    if (!isLonger || !b.waits(x))
      b.aim(x, partOf(op, whole.place, i), whole.accumulate);
}
template <typename Op> static LogicalResult lowerJoin(Op op, Bufferizer &b) {
  auto whole = b.ensureDestination(op.getY());
  b.setPlace(op.getY(), whole.place);
  for (auto [i, x] : llvm::enumerate(op.getXs())) {
    Place part = partOf(op, whole.place, i);
    if (auto aimed = b.destinationOf(x); aimed && aimed->place == part)
      continue;
    if (failed(b.store(b.placeOf(x), {part, whole.accumulate}, op.getLoc())))
      return failure();
  }
  return success();
}

static LogicalResult lowerPad(graph::PadOp op, Bufferizer &b) {
  Place whole = b.place(op.getY());
  b.fill(whole, isa<FloatType>(whole.element)
                    ? TypedAttr(b.builder().getFloatAttr(whole.element, op.getValue().convertToDouble()))
                    : TypedAttr(b.builder().getIntegerAttr(whole.element, int64_t(op.getValue().convertToDouble()))));
  SmallVector<int64_t> steps(whole.rank(), 1);
  b.copy(b.placeOf(op.getX()), whole.sliced(op.getLow(), steps, graph::shapeOf(op.getX())));
  return success();
}

static LogicalResult lowerShift(graph::ShiftOp op, Bufferizer &b) {
  Place from = b.placeOf(op.getX()), to = b.place(op.getY());
  int64_t size = from.sizes[op.getDim()], amount = op.getAmount();
  int64_t kept = std::max<int64_t>(0, size - std::abs(amount));
  SmallVector<int64_t> steps(from.rank(), 1), fromOffsets(from.rank(), 0), toOffsets(from.rank(), 0);
  SmallVector<int64_t> shape(from.sizes), rest(from.sizes), restOffsets(from.rank(), 0);
  (amount > 0 ? fromOffsets : toOffsets)[op.getDim()] = std::min(std::abs(amount), size);
  restOffsets[op.getDim()] = amount > 0 ? kept : 0;
  shape[op.getDim()] = kept;
  rest[op.getDim()] = size - kept;
  if (size > kept)
    b.fill(to.sliced(restOffsets, steps, rest), b.builder().getIntegerAttr(to.element, op.getFill()));
  if (kept)
    b.copy(from.sliced(fromOffsets, steps, shape), to.sliced(toOffsets, steps, shape), "shift");
  return success();
}

static LogicalResult lowerConstant(graph::ConstantOp op, Bufferizer &b) {
  Place to = b.place(op.getY());
  if (auto splat = dyn_cast<SplatElementsAttr>(op.getValue())) {
    b.fill(to, splat.getSplatValue<TypedAttr>());
    return success();
  }
  return emitConstant(op, op.getValue(), to, b);
}

static LogicalResult lowerIota(graph::IotaOp op, Bufferizer &b) {
  if (op.getOffsetAxes() && !op.getOffsetAxes()->empty())
    return op.emitOpError("has no kernel on a shard for these types");
  auto type = cast<ShapedType>(op.getY().getType());
  HostTensor value(type.getShape(), type.getElementType());
  EvaluationContext context;
  if (failed(cast<ReferenceOpInterface>(op.getOperation()).evaluate({}, value, context)))
    return failure();
  return emitConstant(op, value.toAttribute(), b.place(op.getY()), b);
}

void dtcc::exec::addMovementRules(OpRules &rules) {
  auto view = [](OpRule rule, void (*aim)(Operation *, Bufferizer &) = nullptr) {
    rule.isView = true;
    rule.aim = aim;
    return rule;
  };
  auto join = [](OpRule rule, void (*aim)(Operation *, Bufferizer &)) {
    rule.writesStrided = rule.accumulates = true;
    // Each part is written by its producer, or by a kernel that rounds it.
    rule.mayRound = [](Value, Type, const Bufferizer &) { return true; };
    rule.aim = aim;
    return rule;
  };
  rules[graph::TransposeOp::getOperationName()] = view(ruleOf<graph::TransposeOp, lowerTranspose>(), aimTranspose);
  rules[graph::BarrierOp::getOperationName()] = view(ruleOf<graph::BarrierOp, lowerBarrier>());
  rules[graph::ReshapeOp::getOperationName()] = view(ruleOf<graph::ReshapeOp, lowerReshape>(), aimReshape);
  rules[graph::BroadcastOp::getOperationName()] = view(ruleOf<graph::BroadcastOp, lowerBroadcast>());
  rules[graph::SliceOp::getOperationName()] = view(ruleOf<graph::SliceOp, lowerSlice>());
  rules[graph::UnstackOp::getOperationName()] = view(ruleOf<graph::UnstackOp, lowerUnstack>());
  rules[graph::StackOp::getOperationName()] =
      join(ruleOf<graph::StackOp, lowerJoin<graph::StackOp>>(), aimJoin<graph::StackOp>);
  rules[graph::ConcatOp::getOperationName()] =
      join(ruleOf<graph::ConcatOp, lowerJoin<graph::ConcatOp>>(), aimJoin<graph::ConcatOp>);
  rules[graph::PadOp::getOperationName()] = ruleOf<graph::PadOp, lowerPad>();
  rules[graph::ShiftOp::getOperationName()] = ruleOf<graph::ShiftOp, lowerShift>();
  rules[graph::ConstantOp::getOperationName()] = ruleOf<graph::ConstantOp, lowerConstant>();
  rules[graph::IotaOp::getOperationName()] = ruleOf<graph::IotaOp, lowerIota>();
}
