//===- LossOps.cpp - Factors and verifiers of losses
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

/// Factors of logits: rows of one kind, then the classes, which skip their padding.
static Dims logitFactors(FactorMap &map, Value logits, FactorKind rows, FactorKind classes) {
  Dims all = addFactors(map, logits);
  setFactorKind(map, ArrayRef(all).drop_back(), rows,
                rows == FactorKind::Reduce ? PaddingNeed::Neutral : PaddingNeed::Any);
  setFactorKind(map, all.back(), classes, PaddingNeed::Skipped);
  return all;
}
static Dims rowsOf(const Dims &logits) { return Dims(ArrayRef(logits).drop_back()); }

/// Rows that pad positions are ignored by their labels, where that was arranged.
static void skipIgnored(Operation *op, FactorMap &map, const Dims &logits) {
  for (int64_t row : rowsOf(logits))
    if (op->hasAttr(kIgnoresPaddingAttr))
      map.factors[row].padding = PaddingNeed::Skipped;
}

/// Marks the op, and gives it an ignored label if it has none.
template <typename OpTy> static int64_t ignorePaddedRows(OpTy op) {
  if (!op.getIgnoreIndex())
    op.setIgnoreIndex(-100);
  op->setAttr(kIgnoresPaddingAttr, UnitAttr::get(op.getContext()));
  return static_cast<int64_t>(*op.getIgnoreIndex());
}
std::optional<int64_t> CrossEntropyOp::ignorePadding() { return ignorePaddedRows(*this); }
std::optional<int64_t> CrossEntropyGradOp::ignorePadding() { return ignorePaddedRows(*this); }

FactorMap CrossEntropyOp::getFactorMap() {
  FactorMap map;
  // sum and count lack the rows and come out partial over them; lse walks them.
  Dims logits = logitFactors(map, getLogits(), FactorKind::Reduce, FactorKind::Decompose);
  map.operands = {logits, rowsOf(logits)};
  map.results = {Dims(), Dims(), rowsOf(logits)};
  skipIgnored(*this, map, logits);
  return map;
}
double CrossEntropyOp::getFlops(ArrayRef<int64_t> sizes) { return 15 * product(sizes); }
LogicalResult CrossEntropyOp::verify() { return verifyRankAtLeast(*this, "logits", getLogits(), 1); }

FactorMap CrossEntropyGradOp::getFactorMap() {
  FactorMap map;
  // With the row's lse given, a shard of classes needs only their first global number.
  Dims logits = logitFactors(map, getLogits(), FactorKind::Parallel, FactorKind::Index);
  map.operands = {logits, rowsOf(logits), rowsOf(logits)};
  map.results = {logits};
  skipIgnored(*this, map, logits);
  return map;
}
double CrossEntropyGradOp::getFlops(ArrayRef<int64_t> sizes) { return 15 * product(sizes); }
LogicalResult CrossEntropyGradOp::verify() {
  if (failed(verifyRankAtLeast(*this, "logits", getLogits(), 1)))
    return failure();
  // On a shard the local number of classes says nothing about the whole.
  int64_t local = shapeOf(getLogits()).back();
  if (auto classes = getClasses(); classes && !getClassAxes() && static_cast<int64_t>(*classes) > local)
    return emitOpError() << "classes must be at most " << local << ", got: " << *classes;
  return success();
}

FactorMap CrossEntropyStatsOp::getFactorMap() {
  FactorMap map;
  Dims logits = logitFactors(map, getLogits(), FactorKind::Parallel, FactorKind::Decompose);
  map.operands = {logits, rowsOf(logits)};
  map.results = {rowsOf(logits), rowsOf(logits), rowsOf(logits)};
  return map;
}
double CrossEntropyStatsOp::getFlops(ArrayRef<int64_t> sizes) { return 15 * product(sizes); }
LogicalResult CrossEntropyStatsOp::verify() {
  if (failed(verifyRankAtLeast(*this, "logits", getLogits(), 1)))
    return failure();
  int64_t local = shapeOf(getLogits()).back();
  if (!getClassAxes() && static_cast<int64_t>(getClasses()) > local)
    return emitOpError() << "classes must be at most " << local << ", got: " << getClasses();
  return success();
}

FactorMap CrossEntropyMergeOp::getFactorMap() {
  FactorMap map = elementwiseFactorMap(*this);
  map.linear = {{2}};
  return map;
}
double CrossEntropyMergeOp::getFlops(ArrayRef<int64_t> sizes) { return 14 * product(sizes); }

FactorMap CrossEntropyLossOp::getFactorMap() {
  FactorMap map;
  Dims rows = addFactors(map, getLabels());
  setFactorKind(map, rows, FactorKind::Reduce, PaddingNeed::Neutral);
  map.operands.assign(4, rows);
  map.results = {Dims(), Dims(), rows};
  return map;
}
double CrossEntropyLossOp::getFlops(ArrayRef<int64_t> sizes) { return 16 * product(sizes); }
LogicalResult CrossEntropyLossOp::verify() {
  // exec-narrow-losses stores the logarithm in f64.
  if (elementOf(getLse()).isF64())
    return success();
  return verifySameElement(*this, getMaximum(), getLse());
}
