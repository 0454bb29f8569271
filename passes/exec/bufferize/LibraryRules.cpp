//===- LibraryRules.cpp - Bufferization of embedding and cross entropy -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/graph/Shapes.h"
#include "passes/exec/bufferize/OpRules.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

/// The first `rows` dimensions as one and the others as one; copied if they lie apart.
static Place asRows(const Place &place, int64_t rows, Bufferizer &b) {
  SmallVector<int64_t> groups[] = {dimRange(0, rows), dimRange(rows, place.rank())};
  if (auto merged = place.merged(groups))
    return *merged;
  return *b.copied(place, "rows").merged(groups);
}
/// All dimensions as one.
static Place asVector(const Place &place, Bufferizer &b) {
  SmallVector<int64_t> groups[] = {dimRange(0, place.rank())};
  if (auto merged = place.merged(groups))
    return *merged;
  return *b.copied(place, "vector").merged(groups);
}

static LogicalResult lowerEmbedding(graph::EmbeddingOp op, Bufferizer &b) {
  Place table = asRows(b.placeOf(op.getTable()), 1, b), ids = asVector(b.placeOf(op.getIds()), b);
  Place y = asRows(b.place(op.getY()), b.placeOf(op.getIds()).rank(), b);
  b.library(op, "embedding", {b.view(table), b.view(ids)}, b.view(y), {b.communicators.coordinate(op.getRowAxes())});
  return success();
}

/// Views rows [v, c] of integers as rows of f32 with the same bytes: an i64 becomes two cells. The bits are moved
/// unchanged.
static Place asFloats(const Place &rows, Bufferizer &b) {
  Place place = rows.isDense() ? rows : b.dense(rows, "rows");
  int64_t cells = getElementBytes(place.element) / 4;
  place.element = b.builder().getF32Type();
  place.sizes[1] *= cells;
  place.strides = {place.sizes[1], 1};
  place.blockStride *= cells;
  return place;
}

/// Gathers that exec-expand-composites leaves: rows of integers of 4 or 8 bytes, along the first dimension.
static LogicalResult lowerIntegerGather(graph::GatherOp op, Bufferizer &b) {
  Type element = graph::elementOf(op.getX());
  if (op.getAxis() != 0 || !(element.isInteger(32) || element.isInteger(64)))
    return op.emitOpError("has no library op for these types");
  Place table = asFloats(asRows(b.placeOf(op.getX()), 1, b), b), ids = asVector(b.placeOf(op.getIndices()), b);
  Place y = asRows(b.place(op.getY()), b.placeOf(op.getIndices()).rank(), b);
  b.library(op, "embedding", {b.view(table), b.view(ids)}, b.view(asFloats(y, b)),
            {b.communicators.coordinate(std::nullopt)});
  return success();
}

static LogicalResult lowerScatterAdd(graph::ScatterAddOp op, Bufferizer &b) {
  int64_t idRank = b.placeOf(op.getIds()).rank();
  Place rows = asRows(b.placeOf(op.getRows()), idRank, b), ids = asVector(b.placeOf(op.getIds()), b);
  auto destination = b.destinationOf(op.getTable());
  int64_t accumulate = destination ? destination->accumulate : int64_t(Overwrite);
  Place table = asRows(b.place(op.getTable()), 1, b);
  OpBuilder &builder = b.builder();
  b.library(op, "scatter_add", {b.view(rows), b.view(ids)}, b.view(table),
            {b.communicators.coordinate(op.getRowAxes()), builder.getI64IntegerAttr(accumulate),
             builder.getI64IntegerAttr(op.getPaddingIdx())},
            accumulate != 0);
  return success();
}

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

/// `logits` as [rows, classes], each row without gaps.
static Place asLogits(const Place &place, Bufferizer &b) {
  Place rows = asRows(place, place.rank() - 1, b);
  if (rows.sizes[1] == 1 || rows.strides[1] == 1)
    return rows;
  Place whole = b.storage.allocate(RankedTensorType::get(rows.sizes, rows.element), "logits");
  b.copy(rows, whole);
  return whole;
}

static SmallVector<Attribute> ignored(std::optional<int64_t> index, OpBuilder &builder) {
  return {builder.getI64IntegerAttr(index.value_or(0)), builder.getI64IntegerAttr(index.has_value())};
}

static void emitStats(Operation *op, const Place &logits, const Place &labels, const Place &maximum, const Place &sum,
                      const Place &target, Attribute coordinate, int64_t classes, Bufferizer &b) {
  b.library(op, "cross_entropy_stats", {b.view(logits), b.view(labels)}, {b.view(maximum), b.view(sum), b.view(target)},
            {coordinate, b.builder().getI64IntegerAttr(classes)});
}

static void emitLoss(Operation *op, const Place &maximum, const Place &sum, const Place &target, const Place &labels,
                     std::optional<int64_t> ignoreIndex, const Place &lse, const Place &loss, const Place &count,
                     Bufferizer &b) {
  SmallVector<Attribute> parameters = ignored(ignoreIndex, b.builder());
  parameters.push_back(b.builder().getI64IntegerAttr(Overwrite));
  b.library(op, "cross_entropy_loss", {b.view(maximum), b.view(sum), b.view(target), b.view(labels)},
            {b.view(lse), b.view(loss), b.view(count)}, parameters);
}

static LogicalResult lowerCrossEntropy(graph::CrossEntropyOp op, Bufferizer &b) {
  Place logits = asLogits(b.placeOf(op.getLogits()), b), labels = asVector(b.placeOf(op.getLabels()), b);
  auto row = RankedTensorType::get({logits.sizes[0]}, logits.element);
  Place maximum = b.storage.allocate(row, "row_max"), sum = b.storage.allocate(row, "row_sum"),
        target = b.storage.allocate(row, "target");
  emitStats(op, logits, labels, maximum, sum, target, b.builder().getUnitAttr(), logits.sizes[1], b);
  Place lse = asVector(b.place(op.getLse()), b);
  emitLoss(op, maximum, sum, target, labels, op.getIgnoreIndex(), lse, b.place(op.getSum()), b.place(op.getCount()), b);
  return success();
}

static LogicalResult lowerStats(graph::CrossEntropyStatsOp op, Bufferizer &b) {
  Place logits = asLogits(b.placeOf(op.getLogits()), b), labels = asVector(b.placeOf(op.getLabels()), b);
  emitStats(op, logits, labels, asVector(b.place(op.getMaximum()), b), asVector(b.place(op.getSum()), b),
            asVector(b.place(op.getTarget()), b), b.communicators.coordinate(op.getClassAxes()), op.getClasses(), b);
  return success();
}

static LogicalResult lowerMerge(graph::CrossEntropyMergeOp op, Bufferizer &b) {
  Place maximum = asVector(b.placeOf(op.getMaximum()), b), global = asVector(b.placeOf(op.getGlobalMaximum()), b);
  Place from = b.placeOf(op.getSum()), merged = b.placeOver(op.getMerged(), op.getSum(), op);
  if (!(from == merged))
    b.copy(from, merged);
  b.library(op, "cross_entropy_merge", {b.view(maximum), b.view(global)}, b.view(asVector(merged, b)), {},
            /*updates=*/true);
  return success();
}

static LogicalResult lowerLoss(graph::CrossEntropyLossOp op, Bufferizer &b) {
  Place lse = asVector(b.place(op.getLse()), b);
  emitLoss(op, asVector(b.placeOf(op.getMaximum()), b), asVector(b.placeOf(op.getSum()), b),
           asVector(b.placeOf(op.getTarget()), b), asVector(b.placeOf(op.getLabels()), b), op.getIgnoreIndex(), lse,
           b.place(op.getLoss()), b.place(op.getCount()), b);
  return success();
}

static LogicalResult lowerCrossEntropyGrad(graph::CrossEntropyGradOp op, Bufferizer &b) {
  Place logits = asLogits(b.placeOf(op.getLogits()), b), labels = asVector(b.placeOf(op.getLabels()), b);
  Place lse = asVector(b.placeOf(op.getLse()), b);
  Place gradient = asLogits(b.placeOver(op.getDlogits(), op.getLogits(), op), b);
  SmallVector<Attribute> parameters{b.communicators.coordinate(op.getClassAxes()),
                                    b.builder().getI64IntegerAttr(op.getClasses().value_or(logits.sizes[1]))};
  parameters.append(ignored(op.getIgnoreIndex(), b.builder()));
  b.library(op, "cross_entropy_grad", {b.view(logits), b.view(labels), b.view(lse)}, b.view(gradient), parameters);
  return success();
}

void dtcc::exec::addLibraryRules(OpRules &rules) {
  rules[graph::EmbeddingOp::getOperationName()] = ruleOf<graph::EmbeddingOp, lowerEmbedding>();
  rules[graph::GatherOp::getOperationName()] = ruleOf<graph::GatherOp, lowerIntegerGather>();
  OpRule &table = rules[graph::ScatterAddOp::getOperationName()] = ruleOf<graph::ScatterAddOp, lowerScatterAdd>();
  table.accumulates = true;
  rules[graph::CrossEntropyOp::getOperationName()] = ruleOf<graph::CrossEntropyOp, lowerCrossEntropy>();
  OpRule &stats = rules[graph::CrossEntropyStatsOp::getOperationName()] =
      ruleOf<graph::CrossEntropyStatsOp, lowerStats>();
  rules[graph::CrossEntropyMergeOp::getOperationName()] = ruleOf<graph::CrossEntropyMergeOp, lowerMerge>();
  rules[graph::CrossEntropyLossOp::getOperationName()] = ruleOf<graph::CrossEntropyLossOp, lowerLoss>();
  OpRule &gradient = rules[graph::CrossEntropyGradOp::getOperationName()] =
      ruleOf<graph::CrossEntropyGradOp, lowerCrossEntropyGrad>();
  stats.takesRows = gradient.takesRows = true;
}
