//===- AttentionOps.cpp - Factors and verifiers of attention and rotary embedding
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/PositionOps.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {
/// The factors of attention and of its gradient, in this order:
/// b t h [g] d s e.
struct AttentionFactors {
  FactorMap map;
  Dims q, k, v, out, lse, bias, key, querySegment;

  AttentionFactors(Operation *op, Value qValue, Value vValue) {
    ArrayRef<int64_t> shape = shapeOf(qValue);
    bool grouped = shape.size() == 5;
    b = map.add(shape[0]);
    t = map.add(shape[1], FactorKind::Index);
    h = map.add(shape[2]);
    if (grouped)
      g = map.add(shape[3]);
    d = map.add(shape.back(), FactorKind::Replicate);
    s = map.add(shapeOf(vValue)[1], FactorKind::Decompose);
    // The local form is told the lengths of both sides.
    map.factors[t].padding = map.factors[s].padding = PaddingNeed::Skipped;
    e = map.add(shapeOf(vValue).back());
    Dims heads = grouped ? Dims{h, g} : Dims{h};
    q = concat(concat({b, t}, heads), {d});
    // In a ring keys lie like queries, and no dimension walks s.
    int64_t keys = op->hasAttr(kRingAttr) ? t : s;
    k = {b, keys, h, d};
    v = {b, keys, h, e};
    out = concat(concat({b, t}, heads), {e});
    lse = concat(concat({b}, heads), {t});
    bias = concat(heads, {t, s});
    key = {b, keys};
    querySegment = {b, t};
  }

  void addMaskOperands(MaskAttr mask) {
    if (mask.getKey())
      map.operands.push_back(key);
    if (mask.getSegment()) {
      map.operands.push_back(querySegment);
      map.operands.push_back(key);
    }
  }

  int64_t b, t, h, g = kNoFactor, d, s, e;
};
} // namespace

LogicalResult dtcc::graph::verifyMaskOperands(Operation *op, ValueRange operands, MaskAttr mask) {
  size_t wanted = (mask.getKey() ? 1 : 0) + (mask.getSegment() ? 2 : 0);
  if (operands.size() != wanted)
    return op->emitOpError() << "mask needs " << wanted << " operands, got: " << operands.size();
  if (mask.getKey() && !elementOf(operands.front()).isInteger(1))
    return op->emitOpError() << "mask key must be boolean, got: " << elementOf(operands.front());
  for (Value segments : operands.drop_front(mask.getKey() ? 1 : 0))
    if (!elementOf(segments).isInteger(64))
      return op->emitOpError() << "mask segments must be i64, got: " << elementOf(segments);
  return success();
}

static LogicalResult verifyAttention(Operation *op, Value q, Value k, Value v, ValueRange maskOperands, MaskAttr mask) {
  if (rankOf(q) != 4 && rankOf(q) != 5)
    return op->emitOpError() << "q must have rank 4 or 5, got: " << rankOf(q);
  if (failed(verifyRank(op, "k", k, 4)) || failed(verifyRank(op, "v", v, 4)))
    return failure();
  if (failed(verifyMaskOperands(op, maskOperands, mask)))
    return failure();
  if (mask.getWindowLeft() < 0)
    return op->emitOpError() << "mask window_left must not be negative, got: " << mask.getWindowLeft();
  return success();
}

bool AttentionOp::attends() { return true; }
bool AttentionGradOp::attends() { return true; }

FactorMap AttentionOp::getFactorMap() {
  AttentionFactors f(*this, getQ(), getV());
  f.map.operands = {f.q, f.k, f.v};
  if (getBias())
    f.map.operands.push_back(f.bias);
  f.addMaskOperands(getMask());
  f.map.results = {f.out, f.lse};
  return f.map;
}
double AttentionOp::getFlops(ArrayRef<int64_t> sizes) {
  // b t h (g) times s times (d for the scores, e for the sum, 16 for the softmax).
  double cells = product(sizes.drop_back(3)) * sizes[sizes.size() - 2];
  double causal = getMask().getCausal() ? 0.5 : 1;
  return causal * cells * (2.0 * sizes[sizes.size() - 3] + 2.0 * sizes.back() + 16);
}
LogicalResult AttentionOp::verify() {
  return verifyAttention(*this, getQ(), getK(), getV(), getMaskOperands(), getMask());
}

FactorMap AttentionGradOp::getFactorMap() {
  AttentionFactors f(*this, getQ(), getV());
  // dk and dv lack the queries and the groups: their parts add up. The row sums of
  // out * dout want the value channels whole.
  f.map.factors[f.t].partial = true;
  if (f.g != kNoFactor)
    setFactorKind(f.map, f.g, FactorKind::Reduce, PaddingNeed::Neutral);
  f.map.factors[f.e].kind = FactorKind::Replicate;
  f.map.operands = {f.q, f.k, f.v};
  f.addMaskOperands(getMask());
  f.map.operands.append({f.out, f.lse, f.out});
  f.map.linear = {{static_cast<unsigned>(f.map.operands.size() - 1)}};
  f.map.results = {f.q, f.k, f.v};
  return f.map;
}
double AttentionGradOp::getFlops(ArrayRef<int64_t> sizes) {
  double cells = product(sizes.drop_back(3)) * sizes[sizes.size() - 2];
  double causal = getMask().getCausal() ? 0.5 : 1;
  return causal * cells * (6.0 * sizes[sizes.size() - 3] + 4.0 * sizes.back() + 18);
}
LogicalResult AttentionGradOp::verify() {
  return verifyAttention(*this, getQ(), getK(), getV(), getMaskOperands(), getMask());
}

FactorMap RotaryOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  Dims x = addFactors(map, getX()), table = at(x, getTableDims());
  map.factors[x[getPair()]].kind = FactorKind::Replicate;
  map.operands = {x, table, table};
  map.results = {x};
  return map;
}
double RotaryOp::getFlops(ArrayRef<int64_t> sizes) { return 3 * product(sizes); }
LogicalResult RotaryOp::verify() {
  int64_t rank = rankOf(getX());
  if (failed(verifyDim(*this, "pair", getPair(), rank)))
    return failure();
  if (shapeOf(getX())[getPair()] != 2)
    return emitOpError() << "pair dimension must have size 2, got: " << shapeOf(getX())[getPair()];
  ArrayRef<int64_t> dims = getTableDims();
  if (!dims.empty() && failed(verifyDims(*this, dims, rank)))
    return failure();
  if (llvm::is_contained(dims, static_cast<int64_t>(getPair())))
    return emitOpError() << "table_dims must not hold the pair dimension, got: " << getPair();
  return success();
}
