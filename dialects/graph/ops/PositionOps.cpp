//===- PositionOps.cpp - Factors and verifiers of ops that know positions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/PositionOps.h"
#include "dialects/graph/Shapes.h"
#include "runtime/abi/SequenceOrder.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {
/// The factors of a part of attention: b t h [g] d s e. These ops are local: kinds say nothing.
struct PartFactors {
  FactorMap map;
  Dims q, k, v, out, lse;

  template <typename Op> explicit PartFactors(Op op) {
    ArrayRef<int64_t> shape = shapeOf(op.getQ());
    auto add = [&](int64_t size) { return map.add(size, FactorKind::Replicate); };
    Dims rows{add(shape[0]), add(shape[1])}, heads;
    for (int64_t size : shape.drop_front(2).drop_back())
      heads.push_back(add(size));
    int64_t d = add(shape.back()), s = add(shapeOf(op.getV())[1]), e = add(shapeOf(op.getV()).back());
    q = concat(concat(rows, heads), {d});
    k = {rows[0], s, heads[0], d};
    v = {rows[0], s, heads[0], e};
    out = concat(concat(rows, heads), {e});
    lse = concat(concat({rows[0]}, heads), {rows[1]});
    map.operands = {q, k, v};
    if (op.getMask().getKey())
      map.operands.push_back({rows[0], s});
    if (op.getMask().getSegment())
      map.operands.append({{rows[0], rows[1]}, {rows[0], s}});
  }
};
} // namespace

template <typename Op> static LogicalResult verifyPart(Op op, size_t sums) {
  if (rankOf(op.getQ()) != 4 && rankOf(op.getQ()) != 5)
    return op.emitOpError() << "q must have rank 4 or 5, got: " << rankOf(op.getQ());
  if (failed(verifyRank(op, "k", op.getK(), 4)) || failed(verifyRank(op, "v", op.getV(), 4)))
    return failure();
  if (failed(verifyMaskOperands(op, op.getMaskOperands(), op.getMask())))
    return failure();
  if (!op.getOnto().empty() && op.getOnto().size() != sums)
    return op.emitOpError() << "must go on from " << sums << " values, got: " << op.getOnto().size();
  if (static_cast<int64_t>(op.getShift()) < 0 || (op.getShift() > 0 && !op.getKeyAxes()))
    return op.emitOpError() << "shift must be 0 where keys are whole, and not negative, got: "
                            << static_cast<int64_t>(op.getShift());
  if (op.getChunks() % 2)
    return op.emitOpError() << "chunks must be even, got: " << op.getChunks();
  return success();
}

FactorMap AttentionPartOp::getFactorMap() {
  PartFactors f(*this);
  f.map.results = {f.out, f.lse};
  if (!getOnto().empty())
    f.map.operands.append(f.map.results);
  return f.map;
}
FactorMap AttentionPartGradOp::getFactorMap() {
  PartFactors f(*this);
  f.map.operands.append({f.out, f.lse, f.out});
  f.map.results = {f.q, f.k, f.v};
  if (!getOnto().empty())
    f.map.operands.append(f.map.results);
  return f.map;
}
LogicalResult AttentionPartOp::verify() { return verifyPart(*this, 2); }
LogicalResult AttentionPartGradOp::verify() { return verifyPart(*this, 3); }

/// Number of cells of the scores, as for graph.attention. Under a causal mask half of the cells count, on average over
/// the parts.
static double cellsOf(ArrayRef<int64_t> sizes, MaskAttr mask) {
  return product(sizes.drop_back(3)) * sizes[sizes.size() - 2] * (mask.getCausal() ? 0.5 : 1);
}
double AttentionPartOp::getFlops(ArrayRef<int64_t> sizes) {
  return cellsOf(sizes, getMask()) * (2.0 * sizes[sizes.size() - 3] + 2.0 * sizes.back() + 16);
}
double AttentionPartGradOp::getFlops(ArrayRef<int64_t> sizes) {
  return cellsOf(sizes, getMask()) * (6.0 * sizes[sizes.size() - 3] + 4.0 * sizes.back() + 18);
}

FactorMap ReorderOp::getFactorMap() {
  FactorMap map;
  Dims y = addFactors(map, getY()), x = y;
  // Rows come from anywhere: x is whole, and what it is padded by is no row.
  x[getDim()] = kNoFactor;
  map.factors[y[getDim()]].kind = FactorKind::Index;
  map.linear = {{0}};
  map.operands = {x};
  map.results = {y};
  return map;
}
double ReorderOp::getFlops(ArrayRef<int64_t>) { return 0; }
LogicalResult ReorderOp::verify() {
  if (failed(verifyDim(*this, "dim", getDim(), rankOf(getX()))))
    return failure();
  if (getChunks() % 2)
    return emitOpError() << "chunks must be even, got: " << getChunks();
  if (static_cast<int64_t>(getFill()) != 0 && isFloat(getX()))
    return emitOpError() << "fill must be 0 for floats, got: " << static_cast<int64_t>(getFill());
  // Padding of a sequence must lie at its end in either order.
  int64_t rows = shapeOf(getX())[getDim()], chunks = getChunks();
  if (chunks && orderedRows(rows, chunks) - rows > orderedRows(rows, chunks) / chunks)
    return emitOpError() << rows << " positions are too few for " << chunks
                         << " chunks: padding would fill more than one";
  return verifySameElement(*this, getX(), getY());
}
