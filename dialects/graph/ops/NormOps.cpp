//===- NormOps.cpp - Factors and verifiers of layer and RMS norms
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

/// Factors of x: rows are parallel, the normalised dims decompose.
static Dims normFactors(FactorMap &map, Value x, ArrayRef<int64_t> dims) {
  Dims all = addFactors(map, x);
  setFactorKind(map, at(all, dims), FactorKind::Decompose, PaddingNeed::Neutral);
  return all;
}

/// Factors of x for the parameters' gradients: rows are summed, dims are parallel.
static Dims paramGradFactors(FactorMap &map, Value x, ArrayRef<int64_t> dims) {
  Dims all = addFactors(map, x);
  setFactorKind(map, without(all, dims), FactorKind::Reduce, PaddingNeed::Neutral);
  return all;
}

/// The dims are the last ones: scale and bias have their shape.
static LogicalResult verifyNorm(Operation *op, Value x, ArrayRef<int64_t> dims) {
  int64_t rank = rankOf(x), count = dims.size();
  if (failed(verifyDims(op, dims, rank)))
    return failure();
  if (dims.front() != rank - count)
    return op->emitOpError() << "dims must be the last dimensions, got first: " << dims.front() << " of " << count
                             << " with rank " << rank;
  return success();
}

FactorMap LayerNormOp::getFactorMap() {
  FactorMap map;
  Dims x = normFactors(map, getX(), getDims()), row = without(x, getDims()), param = at(x, getDims());
  map.operands = {x, param, param};
  map.results = {x, row, row};
  return map;
}
double LayerNormOp::getFlops(ArrayRef<int64_t> sizes) { return 8 * product(sizes); }
LogicalResult LayerNormOp::verify() { return verifyNorm(*this, getX(), getDims()); }

FactorMap LayerNormGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  Dims x = normFactors(map, getX(), getDims()), row = without(x, getDims()), param = at(x, getDims());
  map.operands = {x, x, param, row, row};
  map.results = {x};
  return map;
}
double LayerNormGradOp::getFlops(ArrayRef<int64_t> sizes) { return 12 * product(sizes); }
LogicalResult LayerNormGradOp::verify() { return verifyNorm(*this, getX(), getDims()); }

FactorMap LayerNormParamGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  Dims x = paramGradFactors(map, getX(), getDims()), row = without(x, getDims()), param = at(x, getDims());
  map.operands = {x, x, row, row};
  map.results = {param, param};
  return map;
}
double LayerNormParamGradOp::getFlops(ArrayRef<int64_t> sizes) { return 5 * product(sizes); }
LogicalResult LayerNormParamGradOp::verify() { return verifyNorm(*this, getX(), getDims()); }

FactorMap RmsNormOp::getFactorMap() {
  FactorMap map;
  Dims x = normFactors(map, getX(), getDims()), row = without(x, getDims());
  map.operands = {x, at(x, getDims())};
  map.results = {x, row};
  return map;
}
double RmsNormOp::getFlops(ArrayRef<int64_t> sizes) { return 5 * product(sizes); }
LogicalResult RmsNormOp::verify() { return verifyNorm(*this, getX(), getDims()); }

FactorMap RmsNormGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  Dims x = normFactors(map, getX(), getDims()), row = without(x, getDims());
  map.operands = {x, x, at(x, getDims()), row};
  map.results = {x};
  return map;
}
double RmsNormGradOp::getFlops(ArrayRef<int64_t> sizes) { return 9 * product(sizes); }
LogicalResult RmsNormGradOp::verify() { return verifyNorm(*this, getX(), getDims()); }

FactorMap RmsNormParamGradOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  Dims x = paramGradFactors(map, getX(), getDims());
  map.operands = {x, x, without(x, getDims())};
  map.results = {at(x, getDims())};
  return map;
}
double RmsNormParamGradOp::getFlops(ArrayRef<int64_t> sizes) { return 3 * product(sizes); }
LogicalResult RmsNormParamGradOp::verify() { return verifyNorm(*this, getX(), getDims()); }
