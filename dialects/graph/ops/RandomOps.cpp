//===- RandomOps.cpp - Factors, verifiers and meaning of random numbers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "dialects/graph/Shard.h"
#include "dialects/interfaces/Philox.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

//===----------------------------------------------------------------------===//
// Factors and verifiers
//===----------------------------------------------------------------------===//

/// A cell's random number depends on its global index.
static FactorMap indexed(Operation *op) {
  FactorMap map = elementwiseFactorMap(op);
  for (Factor &factor : map.factors)
    factor.kind = FactorKind::Index;
  return map;
}

FactorMap DropoutOp::getFactorMap() {
  FactorMap map = indexed(*this);
  map.linear = {{0}};
  return map;
}
FactorMap UniformOp::getFactorMap() { return indexed(*this); }

double DropoutOp::getFlops(ArrayRef<int64_t> sizes) { return 45 * product(sizes); }
double UniformOp::getFlops(ArrayRef<int64_t> sizes) { return 45 * product(sizes); }

/// `global_shape` and `offset_axes` are of every dimension.
template <typename RandomOp> static LogicalResult verifyPlace(RandomOp op) {
  if (auto shape = op.getGlobalShape())
    if (failed(verifyLength(op, "global_shape", shape->size(), rankOf(op.getX()))))
      return failure();
  if (auto axes = op.getOffsetAxes()) {
    if (!op.getGlobalShape())
      return op.emitOpError("offset_axes needs global_shape");
    return verifyLength(op, "offset_axes", axes->size(), rankOf(op.getX()));
  }
  return success();
}

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1))
    return emitOpError() << "ratio must be in [0, 1), got: " << ratio;
  return verifyPlace(*this);
}
LogicalResult UniformOp::verify() { return verifyPlace(*this); }

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> operandGrads) {
  if (grads[0] && wanted[0])
    operandGrads[0] = DropoutOp::create(builder, getLoc(), grads[0], getRatioAttr(), getIdAttr(), getGlobalShapeAttr(),
                                        getOffsetAxesAttr());
  return success();
}

LogicalResult UniformOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) {
  return success();
}

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

/// Calls `fn` with each cell's position in the operand and its index in the whole tensor.
template <typename RandomOp>
static void forEachCell(RandomOp op, const HostTensor &x, const EvaluationContext &context,
                        llvm::function_ref<void(int64_t position, uint64_t element)> fn) {
  Dims whole = op.getGlobalShape() ? Dims(*op.getGlobalShape()) : Dims(x.shape);
  Dims strides = rowMajorStrides(whole), offsets(x.rank(), 0);
  if (auto axes = op.getOffsetAxes())
    for (int64_t i = 0; i < x.rank(); ++i)
      offsets[i] = shardNumber(cast<ArrayAttr>((*axes)[i]), context) * x.shape[i];
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t position) {
    fn(position, positionOf(index, strides) + positionOf(offsets, strides));
  });
}

LogicalResult DropoutOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &x = operands[0];
  double ratio = getRatio().convertToDouble(), scale = 1 / (1 - ratio);
  forEachCell(*this, x, context, [&](int64_t position, uint64_t element) {
    bool kept = philoxUniform(context.seed, getId(), element, context.step) >= ratio;
    results[0].floats[position] = kept ? x.floats[position] * scale : 0;
  });
  return success();
}

LogicalResult UniformOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  forEachCell(*this, operands[0], context, [&](int64_t position, uint64_t element) {
    results[0].floats[position] = philoxBetween(context.seed, getId(), element, context.step);
  });
  return success();
}
