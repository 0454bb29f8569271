//===- ContractionGradients.cpp - Gradients of products and reductions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/ContractSpec.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

LogicalResult ContractOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                        MutableArrayRef<Value> operandGrads) {
  if (!grads[0])
    return success();
  // Every letter stands in two of the three terms, so each gradient is a product again.
  // The operands of a product have one type: a wider gradient is rounded to it.
  ContractSpec spec = ContractSpec::parse(getSpec());
  Value dy = Build(builder, getLoc()).cast(grads[0], elementOf(getLhs()));
  ContractSpec left{spec.result, spec.rhs, spec.lhs}, right{spec.result, spec.lhs, spec.rhs};
  if (wanted[0])
    operandGrads[0] = ContractOp::create(builder, getLoc(), getLhs().getType(), left.str(), dy, getRhs());
  if (wanted[1])
    operandGrads[1] = ContractOp::create(builder, getLoc(), getRhs().getType(), right.str(), dy, getLhs());
  return success();
}

LogicalResult ReduceOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> operandGrads) {
  if (!grads[0] || !wanted[0] || !isFloat(getX()))
    return success();
  Build b(builder, getLoc());
  Dims kept = without(range(0, rankOf(getX())), getDims());
  Type type = getX().getType();
  if (getKind() == Reduction::Sum) {
    operandGrads[0] = b.broadcast(b.cast(grads[0], elementOf(getX())), type, kept);
    return success();
  }
  // Cells that hold the extreme share its gradient, as PyTorch's amax.
  Value holders = b.compare(Predicate::eq, getX(), b.broadcast(getY(), type, kept));
  Value ones = CastOp::create(builder, getLoc(), type, holders);
  Value each = b.div(grads[0], b.sum(ones, getDims()));
  operandGrads[0] = b.mul(ones, b.broadcast(each, type, kept));
  return success();
}

LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> operandGrads) {
  if (!grads[0] || !wanted[0])
    return success();
  Build b(builder, getLoc());
  Value dy = grads[0], y = getY();
  Dims kept = without(range(0, rankOf(y)), getDims());
  auto rowSum = [&](Value x) { return b.broadcast(b.sum(x, getDims()), x.getType(), kept); };
  operandGrads[0] = getLog() ? b.sub(dy, b.mul(ExpOp::create(builder, getLoc(), y), rowSum(dy)))
                             : b.mul(y, b.sub(dy, rowSum(b.mul(dy, y))));
  return success();
}

LogicalResult EmbeddingOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> operandGrads) {
  if (grads[0] && wanted[0])
    operandGrads[0] = ScatterAddOp::create(builder, getLoc(), getTable().getType(), grads[0], getIds(),
                                           getPaddingIdxAttr(), getRowAxesAttr());
  return success();
}

LogicalResult ScatterAddOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                          MutableArrayRef<Value> operandGrads) {
  if (!grads[0] || !wanted[0])
    return success();
  if (static_cast<int64_t>(getPaddingIdx()) >= 0)
    return emitOpError("has no gradient with a padding_idx");
  Value table = Build(builder, getLoc()).cast(grads[0], elementOf(getRows()));
  operandGrads[0] = EmbeddingOp::create(builder, getLoc(), getRows().getType(), table, getIds(), getPaddingIdxAttr(),
                                        getRowAxesAttr());
  return success();
}
