//===- RecurrenceGradients.cpp - The gradient of recurrent layers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

/// `count` cells of dimension `dim` from `first` on.
static Value cut(Build b, Value x, int64_t dim, int64_t first, int64_t count) {
  Dims offsets(rankOf(x), 0), shape(shapeOf(x));
  offsets[dim] = first, shape[dim] = count;
  return SliceOp::create(b.builder, b.loc, withShape(x.getType(), shape), x, offsets, Dims(rankOf(x), 1));
}

static Value join(Build b, ArrayRef<Value> parts, Type type, int64_t dim) {
  return ConcatOp::create(b.builder, b.loc, type, parts, dim);
}

/// Whether `value` is a cast from `element` that nobody else reads. Its gradient is then cast to `element` anyway.
static bool isCastFrom(Type element, Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && value.hasOneUse() && elementOf(cast.getX()) == element;
}

/// h before each step, in type `element`: the start, and h of all steps but the last. The parts are cast before they
/// are joined, because kernels then write them where they are joined.
static Value statesBefore(Build b, RecurrenceOp op, Type element) {
  Value h = op.getH();
  const int64_t steps = shapeOf(h)[0];
  Value start = b.reshape(b.cast(op.getStart(), element), concat({1}, shapeOf(op.getStart())));
  if (steps == 1)
    return start;
  Value others = b.cast(cut(b, h, 0, op.getReverse() ? 1 : 0, steps - 1), element);
  Type type = cast<ShapedType>(h.getType()).clone(element);
  return op.getReverse() ? join(b, {others, start}, type, 0) : join(b, {start, others}, type, 0);
}

/// The sum over steps and samples of gradients to products, times what the weights were multiplied by. The factors have
/// the element type of `products`, the sum that of the weights.
static Value weightGradient(Build b, RecurrenceOp op, Value products) {
  const Type element = elementOf(products);
  auto over = [&](Value gates, Value x) -> Value {
    Type type = withShape(op.getWeight().getType(),
                          {shapeOf(gates)[2], shapeOf(op.getWeight())[1], shapeOf(op.getWeight())[2]});
    return ContractOp::create(b.builder, b.loc, type, "tbgh,tbk->ghk", gates, x);
  };
  Value before = statesBefore(b, op, element);
  if (op.getCell() != RecurrentCell::Gru)
    return over(products, before);
  // The last gate multiplies what the reset gate, number 1, leaves of the state.
  Value reset = b.reshape(cut(b, op.getGates(), 2, 1, 1), shapeOf(op.getH()));
  Value read = b.mul(b.cast(reset, element), before);
  return join(b, {over(cut(b, products, 2, 0, 2), before), over(cut(b, products, 2, 2, 1), read)},
              op.getWeight().getType(), 0);
}

LogicalResult RecurrenceOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                          MutableArrayRef<Value> operandGrads) {
  if (grads.back())
    return emitOpError("has no gradient through its gates");
  Value dh = grads.front(), dc = getC() ? grads[1] : Value();
  if ((!dh && !dc) || !llvm::is_contained(wanted, true))
    return success();
  Build b(builder, getLoc());
  if (!dh)
    dh = b.splat(getH(), 0);
  SmallVector<Value> memory;
  if (getC())
    memory = {getC(), getOther()};
  if (dc)
    memory.push_back(dc);
  const bool separate = getCell() == RecurrentCell::GruResetAfter;
  Type other = separate ? getProjected().getType() : getC() ? getOther().getType() : Type();
  auto grad = RecurrenceGradOp::create(builder, getLoc(), getProjected().getType(), getStart().getType(), other,
                                       getCellAttr(), dh, getWeight(), getH(), getStart(), getGates(), memory,
                                       getReverseAttr(), getProductTypeAttr());
  Value products = separate ? grad.getDother() : grad.getDprojected();
  if (wanted[0])
    operandGrads[0] = grad.getDprojected();
  if (wanted[1]) {
    Value factor = b.cast(products, getProductType().value_or(elementOf(products)));
    operandGrads[1] = weightGradient(b, *this, factor);
    // One copy of the gradient in 16 bits serves the weights of the inputs too.
    if (wanted[0] && !separate && factor != products && isCastFrom(elementOf(factor), getProjected()))
      operandGrads[0] = b.cast(factor, elementOf(products));
  }
  if (wanted[2])
    operandGrads[2] = grad.getDstart();
  if (getOther() && wanted[3])
    operandGrads[3] = separate ? b.sum(cut(b, products, 2, 2, 1), {0, 1, 2}) : grad.getDother();
  return success();
}
