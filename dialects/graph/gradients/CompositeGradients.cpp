//===- CompositeGradients.cpp - Gradients of norms, attention, rotary and losses
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

/// Results that the backward ops read (statistics) have no gradient of their own.
static LogicalResult verifyOnlyFirst(Operation *op, ValueRange grads) {
  for (Value grad : grads.drop_front())
    if (grad)
      return op->emitOpError("has a gradient through its first result only");
  return success();
}

LogicalResult LayerNormOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> operandGrads) {
  if (failed(verifyOnlyFirst(*this, grads)))
    return failure();
  if (!grads[0])
    return success();
  if (wanted[0])
    operandGrads[0] = LayerNormGradOp::create(builder, getLoc(), getX().getType(), grads[0], getX(), getScale(),
                                              getMean(), getRstd(), getDims());
  if (wanted[1] || wanted[2]) {
    auto params = LayerNormParamGradOp::create(builder, getLoc(), getScale().getType(), getBias().getType(), grads[0],
                                               getX(), getMean(), getRstd(), getDims());
    if (wanted[1])
      operandGrads[1] = params.getDscale();
    if (wanted[2])
      operandGrads[2] = params.getDbias();
  }
  return success();
}

LogicalResult RmsNormOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> operandGrads) {
  if (failed(verifyOnlyFirst(*this, grads)))
    return failure();
  if (!grads[0])
    return success();
  if (wanted[0])
    operandGrads[0] =
        RmsNormGradOp::create(builder, getLoc(), getX().getType(), grads[0], getX(), getScale(), getRstd(), getDims());
  if (wanted[1])
    operandGrads[1] =
        RmsNormParamGradOp::create(builder, getLoc(), getScale().getType(), grads[0], getX(), getRstd(), getDims());
  return success();
}

LogicalResult AttentionOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> operandGrads) {
  if (failed(verifyOnlyFirst(*this, grads)))
    return failure();
  if (!grads[0] || !llvm::is_contained(wanted, true))
    return success();
  if (getBias())
    return emitOpError("has no gradient with a bias; leave it decomposed");
  auto grad = AttentionGradOp::create(builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(), getQ(),
                                      getK(), getV(), getMaskOperands(), getOut(), getLse(), grads[0], getMaskAttr(),
                                      getScaleAttr(), getSoftcapAttr(), getEmptyRowAttr());
  for (unsigned i = 0; i < 3; ++i)
    if (wanted[i])
      operandGrads[i] = grad->getResult(i);
  return success();
}

LogicalResult RotaryOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operandGrads) {
  if (!grads[0])
    return success();
  if (wanted[1] || wanted[2])
    return emitOpError("has no gradient to its tables");
  // The transpose of a rotation rotates back.
  if (wanted[0])
    operandGrads[0] = RotaryOp::create(builder, getLoc(), getX().getType(), grads[0], getCos(), getSin(), getPairAttr(),
                                       getTableDimsAttr(), getInverse() ? UnitAttr() : builder.getUnitAttr());
  return success();
}

LogicalResult CrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                            MutableArrayRef<Value> operandGrads) {
  // The count is of labels alone: where a loss divides by it, nothing flows back.
  if (grads[2])
    return emitOpError("has no gradient through its log-sum-exp");
  if (!grads[0] || !wanted[0])
    return success();
  Build b(builder, getLoc());
  Value grad = CrossEntropyGradOp::create(builder, getLoc(), getLogits().getType(), getLogits(), getLabels(), getLse(),
                                          getIgnoreIndexAttr(), IntegerAttr(), ArrayAttr());
  // The sum has f32; the seed of a loss is 1 and vanishes.
  if (splatValue(grads[0]) != 1.0) {
    Value seed = b.cast(grads[0], elementOf(grad));
    grad = b.mul(grad, b.broadcast(seed, grad.getType(), {}));
  }
  operandGrads[0] = grad;
  return success();
}
