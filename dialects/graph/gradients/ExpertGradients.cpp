//===- ExpertGradients.cpp - Gradients of routing and experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/GroupedSpec.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

LogicalResult TopKOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> operandGrads) {
  if (!grads[0] || !wanted[0])
    return success();
  // dx[.., e] = sum_k dvalues[.., k] where indices[.., k] is e: ops that fuse into one pass.
  Build b(builder, getLoc());
  int64_t rank = rankOf(getX());
  Dims shape = concat(shapeOf(getX()), shapeOf(getValues()).back());
  Dims rows = concat(range(0, rank - 1), rank);
  Type cells = withShape(getX().getType(), shape), places = withShape(getIndices().getType(), shape);
  Value count = IotaOp::create(builder, getLoc(), places, builder.getI64IntegerAttr(rank - 1),
                               builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(1), ArrayAttr());
  Value here = b.compare(Predicate::eq, b.broadcast(getIndices(), places, rows), count);
  Value spread = b.mul(CastOp::create(builder, getLoc(), cells, here), b.broadcast(grads[0], cells, rows));
  operandGrads[0] = b.sum(spread, {rank});
  return success();
}

LogicalResult GroupedContractOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                               MutableArrayRef<Value> operandGrads) {
  if (!grads[0])
    return success();
  GroupedSpec spec = GroupedSpec::parse(getSpec(), getRows());
  if (spec.byGroup)
    return emitOpError("has no gradient where rows add up by their group");
  // As of contract: a wider gradient is rounded to the operands' type.
  Value dy = Build(builder, getLoc()).cast(grads[0], elementOf(getLhs()));
  auto product = [&](const ContractSpec &terms, Value lhs, Value rhs, Type type) -> Value {
    return GroupedContractOp::create(builder, getLoc(), type, terms.str(), getRows(), lhs, rhs, getIds(),
                                     getGroupAxesAttr());
  };
  if (wanted[0])
    operandGrads[0] = product({spec.terms.result, spec.terms.rhs, spec.terms.lhs}, dy, getRhs(), getLhs().getType());
  if (wanted[1])
    operandGrads[1] = product({spec.terms.lhs, spec.terms.result, spec.terms.rhs}, getLhs(), dy, getRhs().getType());
  return success();
}

LogicalResult ExpertsOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> operandGrads) {
  if (grads[1])
    return emitOpError("has a gradient through its first result only");
  if (!grads[0] || !llvm::is_contained(wanted, true))
    return success();
  auto grad = ExpertsGradOp::create(builder, getLoc(), getX().getType(), getWeights().getType(), getHidden().getType(),
                                    grads[0], getIds(), getWeights(), getWIn(), getWOut(), getHidden(),
                                    getExpertAxesAttr(), getActivation());
  if (wanted[0])
    operandGrads[0] = grad.getDx();
  if (wanted[2])
    operandGrads[2] = grad.getDweights();
  if (!wanted[3] && !wanted[4])
    return success();
  auto weights = ExpertsWeightGradOp::create(builder, getLoc(), getWIn().getType(), getWOut().getType(), grads[0],
                                             getX(), getIds(), getWeights(), getHidden(), grad.getDhidden(),
                                             getExpertAxesAttr(), getActivation());
  if (wanted[3])
    operandGrads[3] = weights.getDwIn();
  if (wanted[4])
    operandGrads[4] = weights.getDwOut();
  return success();
}
