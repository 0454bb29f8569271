//===- BatchNormOps.cpp - Factors, verifiers and gradients of batch normalisation and sums of groups
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

/// Factors of x: the samples and the other normalised dimensions of one kind.
static Dims batchFactors(FactorMap &map, Value x, ArrayRef<int64_t> dims, FactorKind kind) {
  Dims all = addFactors(map, x);
  setFactorKind(map, at(all, dims), kind, PaddingNeed::Neutral);
  return all;
}
/// Factors of a statistic: the samples, then the channels.
static Dims statisticFactors(const Dims &x, ArrayRef<int64_t> dims) { return concat(x[0], without(x, dims)); }

/// The samples are the first of `dims`, in equal groups.
static LogicalResult verifyBatchNorm(Operation *op, Value x, ArrayRef<int64_t> dims, int64_t groups) {
  if (failed(verifyDims(op, dims, rankOf(x))))
    return failure();
  if (dims.front() != 0)
    return op->emitOpError() << "dims must begin with the samples, dimension 0, got: " << dims.front();
  if (groups < 1)
    return op->emitOpError() << "groups must be at least 1, got: " << groups;
  // On a shard the local number of samples says nothing about the groups.
  if (isa<RankedTensorType>(x.getType()) && shapeOf(x)[0] % groups)
    return op->emitOpError() << "groups must divide the samples, " << shapeOf(x)[0] << ", got: " << groups;
  return success();
}

FactorMap BatchNormOp::getFactorMap() {
  FactorMap map;
  Dims x = batchFactors(map, getX(), getDims(), FactorKind::Decompose);
  Dims channels = without(x, getDims()), statistic = statisticFactors(x, getDims());
  map.operands = {x, channels, channels};
  map.results = {x, statistic, statistic};
  return map;
}
double BatchNormOp::getFlops(ArrayRef<int64_t> sizes) { return 8 * product(sizes); }
LogicalResult BatchNormOp::verify() {
  if (failed(verifyBatchNorm(*this, getX(), getDims(), getGroups())))
    return failure();
  // Statistics and what they are scaled by may be f32 where images are halves.
  return verifySumElement(*this, getX(), getScale());
}

FactorMap BatchNormGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  Dims x = batchFactors(map, getX(), getDims(), FactorKind::Decompose);
  Dims statistic = statisticFactors(x, getDims());
  map.operands = {x, x, without(x, getDims()), statistic, statistic};
  map.results = {x};
  return map;
}
double BatchNormGradOp::getFlops(ArrayRef<int64_t> sizes) { return 12 * product(sizes); }
LogicalResult BatchNormGradOp::verify() { return verifyBatchNorm(*this, getX(), getDims(), getGroups()); }

FactorMap BatchNormParamGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  Dims x = batchFactors(map, getX(), getDims(), FactorKind::Reduce);
  Dims channels = without(x, getDims()), statistic = statisticFactors(x, getDims());
  map.operands = {x, x, statistic, statistic};
  map.results = {channels, channels};
  return map;
}
double BatchNormParamGradOp::getFlops(ArrayRef<int64_t> sizes) { return 5 * product(sizes); }
LogicalResult BatchNormParamGradOp::verify() { return verifyBatchNorm(*this, getX(), getDims(), /*groups=*/1); }

FactorMap RunningStatisticsOp::getFactorMap() {
  FactorMap map;
  Dims statistic = addFactors(map, getMean());
  setFactorKind(map, statistic[0], FactorKind::Decompose, PaddingNeed::Neutral);
  Dims channels(ArrayRef(statistic).drop_front());
  map.operands = {channels, channels, statistic, statistic};
  map.results = {channels, channels};
  return map;
}
double RunningStatisticsOp::getFlops(ArrayRef<int64_t> sizes) { return 4 * product(sizes); }
LogicalResult RunningStatisticsOp::verify() {
  if (failed(verifyRankAtLeast(*this, "mean", getMean(), 1)))
    return failure();
  int64_t least = getUnbiased() ? 2 : 1;
  if (static_cast<int64_t>(getCells()) < least)
    return emitOpError() << "cells must be at least " << least << ", got: " << static_cast<int64_t>(getCells());
  return verifyBatchNorm(*this, getMean(), {0}, getGroups());
}

LogicalResult BatchNormOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> operandGrads) {
  if (grads[1] || grads[2])
    return emitOpError("has a gradient through its first result only");
  if (!grads[0])
    return success();
  if (wanted[0])
    operandGrads[0] = BatchNormGradOp::create(builder, getLoc(), getX().getType(), grads[0], getX(), getScale(),
                                              getMean(), getVariance(), getDims(), getEps(), getGroups());
  if (wanted[1] || wanted[2]) {
    auto params = BatchNormParamGradOp::create(builder, getLoc(), getScale().getType(), getBias().getType(), grads[0],
                                               getX(), getMean(), getVariance(), getDims(), getEps());
    if (wanted[1])
      operandGrads[1] = params.getDscale();
    if (wanted[2])
      operandGrads[2] = params.getDbias();
  }
  return success();
}

FactorMap GroupSumOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  Dims x = batchFactors(map, getX(), {0}, FactorKind::Decompose);
  map.operands = {x};
  map.results = {x};
  return map;
}
double GroupSumOp::getFlops(ArrayRef<int64_t> sizes) { return product(sizes); }
LogicalResult GroupSumOp::verify() {
  if (failed(verifyRankAtLeast(*this, "x", getX(), 1)))
    return failure();
  if (getX().getType() != getY().getType())
    return emitOpError() << "y must have the type of x, " << getX().getType() << ", got: " << getY().getType();
  return verifyBatchNorm(*this, getX(), {0}, getGroups());
}
/// A sample reaches every row of its group, as they reach it: the sum is its own transpose.
LogicalResult GroupSumOp::buildGradient(OpBuilder &builder, ValueRange grads, ArrayRef<bool> wanted,
                                        MutableArrayRef<Value> operandGrads) {
  if (grads[0] && wanted[0])
    operandGrads[0] = GroupSumOp::create(builder, getLoc(), getX().getType(), grads[0], getGroups());
  return success();
}
