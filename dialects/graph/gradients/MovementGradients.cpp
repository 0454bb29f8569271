//===- MovementGradients.cpp - Gradients of movement ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

LogicalResult ReshapeOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> operandGrads) {
  if (grads[0] && wanted[0])
    operandGrads[0] = Build(builder, getLoc()).reshape(grads[0], shapeOf(getX()));
  return success();
}

LogicalResult TransposeOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> operandGrads) {
  Dims inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = to;
  if (grads[0] && wanted[0])
    operandGrads[0] = Build(builder, getLoc()).transpose(grads[0], inverse);
  return success();
}

LogicalResult BroadcastOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> operandGrads) {
  if (grads[0] && wanted[0])
    operandGrads[0] = Build(builder, getLoc()).sum(grads[0], without(range(0, rankOf(getY())), getDims()));
  return success();
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                     MutableArrayRef<Value> operandGrads) {
  if (!grads[0] || !wanted[0])
    return success();
  Build b(builder, getLoc());
  Value dx = grads[0];
  int64_t rank = rankOf(getX());
  Dims low(rank), high(rank);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t stride = getStrides()[i], count = shapeOf(getY())[i];
    if (stride < 0)
      return emitOpError() << "has no gradient with a negative stride, got: " << stride;
    if (stride > 1) {
      // Zeros between the cells: a new dimension of size `stride`, merged again.
      Dims spread(shapeOf(dx)), merged(shapeOf(dx));
      spread.insert(spread.begin() + i + 1, stride);
      merged[i] *= stride;
      SmallVector<Value> parts(stride, b.splat(dx, 0));
      parts[0] = dx;
      dx = StackOp::create(builder, getLoc(), withShape(dx.getType(), spread), parts, i + 1);
      dx = b.reshape(dx, merged);
      // The zeros behind the last cell may exceed the size of the operand.
      int64_t excess = std::max<int64_t>(0, getOffsets()[i] + count * stride - shapeOf(getX())[i]);
      if (excess > 0) {
        merged[i] -= excess;
        dx = SliceOp::create(builder, getLoc(), withShape(dx.getType(), merged), dx, Dims(rank, 0), Dims(rank, 1));
      }
    }
    low[i] = getOffsets()[i];
    high[i] = shapeOf(getX())[i] - low[i] - shapeOf(dx)[i];
  }
  if (dx.getType() != getX().getType())
    dx = PadOp::create(builder, getLoc(), getX().getType(), dx, low, high, llvm::APFloat(0.0));
  operandGrads[0] = dx;
  return success();
}

LogicalResult PadOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                   MutableArrayRef<Value> operandGrads) {
  if (grads[0] && wanted[0])
    operandGrads[0] = SliceOp::create(builder, getLoc(), getX().getType(), grads[0], getLow(), Dims(rankOf(getX()), 1));
  return success();
}

LogicalResult ConcatOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operandGrads) {
  if (!grads[0])
    return success();
  Dims offsets(rankOf(getY()), 0);
  for (auto [i, x] : llvm::enumerate(getXs())) {
    if (wanted[i])
      operandGrads[i] = SliceOp::create(builder, getLoc(), x.getType(), grads[0], offsets, Dims(offsets.size(), 1));
    offsets[getDim()] += shapeOf(x)[getDim()];
  }
  return success();
}

LogicalResult StackOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                     MutableArrayRef<Value> operandGrads) {
  if (!grads[0] || !llvm::is_contained(wanted, true))
    return success();
  auto parts = UnstackOp::create(builder, getLoc(), getXs().getTypes(), grads[0], getDim());
  for (auto [i, part] : llvm::enumerate(parts.getYs()))
    if (wanted[i])
      operandGrads[i] = part;
  return success();
}

LogicalResult UnstackOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> operandGrads) {
  if (!wanted[0] || llvm::none_of(grads, [](Value grad) { return static_cast<bool>(grad); }))
    return success();
  Build b(builder, getLoc());
  SmallVector<Value> parts;
  for (auto [y, grad] : llvm::zip_equal(getYs(), grads))
    parts.push_back(grad ? grad : b.splat(y, 0));
  operandGrads[0] = StackOp::create(builder, getLoc(), getX().getType(), parts, getDim());
  return success();
}

LogicalResult GatherOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operandGrads) {
  if (!grads[0] || !wanted[0] || !isFloat(getX()))
    return success();
  Build b(builder, getLoc());
  // With the axis first, x is a table, and the indices pick its rows.
  int64_t axis = getAxis(), rank = rankOf(getX()), count = rankOf(getIndices());
  Dims rows = concat(axis, without(range(0, rank), axis));
  Dims indexFirst = concat(range(axis, axis + count), concat(range(0, axis), range(axis + count, rankOf(getY()))));
  Value dy = b.transpose(grads[0], indexFirst);
  // Rows add up in f32, whatever the type of x.
  Type sums =
      withShape(isHalf(getX()) ? cast<ShapedType>(getX().getType()).clone(builder.getF32Type()) : getX().getType(),
                at(shapeOf(getX()), rows));
  Value table =
      ScatterAddOp::create(builder, getLoc(), sums, dy, getIndices(), builder.getI64IntegerAttr(-1), ArrayAttr());
  Dims back(rank);
  for (auto [to, from] : llvm::enumerate(rows))
    back[from] = to;
  operandGrads[0] = b.cast(b.transpose(table, back), elementOf(getX()));
  return success();
}
