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

/// h before each step: the start, and h of all steps but the last.
static Value statesBefore(Build b, RecurrenceOp op) {
  Value h = op.getH();
  const int64_t steps = shapeOf(h)[0];
  Value start = b.reshape(op.getStart(), concat({1}, shapeOf(op.getStart())));
  if (steps == 1)
    return start;
  if (op.getReverse())
    return join(b, {cut(b, h, 0, 1, steps - 1), start}, h.getType(), 0);
  return join(b, {start, cut(b, h, 0, 0, steps - 1)}, h.getType(), 0);
}

/// The sum over steps and samples of gradients to products, times what the weights were multiplied by.
static Value weightGradient(Build b, RecurrenceOp op, Value products) {
  auto over = [&](Value gates, Value x) -> Value {
    Type type = withShape(op.getWeight().getType(),
                          {shapeOf(gates)[2], shapeOf(op.getWeight())[1], shapeOf(op.getWeight())[2]});
    return ContractOp::create(b.builder, b.loc, type, "tbgh,tbk->ghk", gates, x);
  };
  Value before = statesBefore(b, op);
  if (op.getCell() != RecurrentCell::Gru)
    return over(products, before);
  // The last gate multiplies what the reset gate, number 1, leaves of the state.
  Value reset = b.reshape(cut(b, op.getGates(), 2, 1, 1), shapeOf(op.getH()));
  return join(b, {over(cut(b, products, 2, 0, 2), before), over(cut(b, products, 2, 2, 1), b.mul(reset, before))},
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
  auto grad =
      RecurrenceGradOp::create(builder, getLoc(), getProjected().getType(), getStart().getType(), other, getCellAttr(),
                               dh, getWeight(), getH(), getStart(), getGates(), memory, getReverseAttr());
  Value products = separate ? grad.getDother() : grad.getDprojected();
  if (wanted[0])
    operandGrads[0] = grad.getDprojected();
  if (wanted[1])
    operandGrads[1] = weightGradient(b, *this, products);
  if (wanted[2])
    operandGrads[2] = grad.getDstart();
  if (getOther() && wanted[3])
    operandGrads[3] = separate ? b.sum(cut(b, products, 2, 2, 1), {0, 1, 2}) : grad.getDother();
  return success();
}
