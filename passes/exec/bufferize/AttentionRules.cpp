//===- AttentionRules.cpp - Bufferization of attention, and of the order of positions -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/PositionOps.h"
#include "passes/exec/bufferize/OpRules.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

/// The attributes of all attention ops in the order of LibraryOps.def; a part has more. `queries`: the axes that
/// split them on a shard.
template <typename Op>
static SmallVector<Attribute> attentionParameters(Op op, std::optional<ArrayAttr> queries, Bufferizer &b) {
  graph::MaskAttr mask = op.getMask();
  OpBuilder &builder = b.builder();
  auto integer = [&](int64_t value) -> Attribute { return builder.getI64IntegerAttr(value); };
  auto real = [&](const llvm::APFloat &value) -> Attribute { return builder.getF64FloatAttr(value.convertToDouble()); };
  return SmallVector<Attribute>{real(op.getScale()),
                                real(op.getSoftcap()),
                                integer(mask.getCausal()),
                                integer(mask.getOffset()),
                                integer(mask.getWindowLeft() ? mask.getWindowLeft() : -1),
                                integer(-1),
                                integer(mask.getKey() + 2 * mask.getSegment()),
                                integer(int64_t(op.getEmptyRow())),
                                b.communicators.coordinate(queries)};
}

/// Queries [b, t, h, d] as [b, t, h, 1, d]; [b, t, h, g, d] as it is.
static Place grouped(const Place &place) { return place.rank() == 4 ? place.withUnitDim(3) : place; }
/// Log-sum-exps [b, h, t] as [b, h, 1, t].
static Place groupedRows(const Place &place) { return place.rank() == 3 ? place.withUnitDim(2) : place; }

static std::optional<ArrayAttr> rowAxes(Operation *op) {
  auto axes = op->getAttrOfType<ArrayAttr>("row_axes");
  return axes ? std::optional(axes) : std::nullopt;
}

/// Queries, keys, values and what masks read: of an attention, whole or in parts.
template <typename Op> static SmallVector<Value> inputs(Op op, Bufferizer &b) {
  SmallVector<Value> ins{b.view(grouped(b.placeOf(op.getQ()))), b.view(b.placeOf(op.getK())),
                         b.view(b.placeOf(op.getV()))};
  for (Value mask : op.getMaskOperands())
    ins.push_back(b.view(b.placeOf(mask)));
  return ins;
}

/// Inputs of an attention gradient: those of the forward op, its result, the logarithms of its sums, the result's
/// gradient.
template <typename Op> static SmallVector<Value> gradientInputs(Op op, Bufferizer &b) {
  SmallVector<Value> ins = inputs(op, b);
  ins.push_back(b.view(grouped(b.placeOf(op.getOut()))));
  ins.push_back(b.view(groupedRows(b.placeOf(op.getLse()))));
  ins.push_back(b.view(grouped(b.placeOf(op.getDout()))));
  return ins;
}

static LogicalResult lowerAttention(graph::AttentionOp op, Bufferizer &b) {
  if (op.getBias())
    return op.emitOpError("bias has no library op");
  Place out = b.place(op.getOut()), lse = b.place(op.getLse());
  b.library(op, "attention", inputs(op, b), {b.view(grouped(out)), b.view(groupedRows(lse))},
            attentionParameters(op, rowAxes(op), b));
  return success();
}

static LogicalResult lowerAttentionGrad(graph::AttentionGradOp op, Bufferizer &b) {
  Place dq = b.place(op.getDq()), dk = b.place(op.getDk()), dv = b.place(op.getDv());
  b.library(op, "attention_grad", gradientInputs(op, b), {b.view(grouped(dq)), b.view(dk), b.view(dv)},
            attentionParameters(op, rowAxes(op), b));
  return success();
}

/// Parameters of an attention part: those of attention and of the part's own.
template <typename Op> static SmallVector<Attribute> partParameters(Op op, Bufferizer &b) {
  SmallVector<Attribute> parameters = attentionParameters(op, op.getRowAxes(), b);
  parameters.push_back(b.communicators.coordinate(op.getKeyAxes()));
  for (int64_t value : {int64_t(op.getShift()), int64_t(op.getChunks()), int64_t(op.getLength()),
                        int64_t(op.getQueryLength()), int64_t(!op.getOnto().empty())})
    parameters.push_back(b.builder().getI64IntegerAttr(value));
  return parameters;
}

/// Place of the sum `result`. If the sum continues one of `onto`, that is its place too.
static Place sumPlace(Value result, ValueRange onto, unsigned index, Operation *op, Bufferizer &b) {
  if (onto.empty())
    return b.place(result);
  Place from = b.placeOf(onto[index]), to = b.placeOver(result, onto[index], op);
  if (!(from == to))
    b.copy(from, to);
  return to;
}

static LogicalResult lowerPart(graph::AttentionPartOp op, Bufferizer &b) {
  Place out = sumPlace(op.getOut(), op.getOnto(), 0, op, b), lse = sumPlace(op.getLse(), op.getOnto(), 1, op, b);
  b.library(op, "attention_part", inputs(op, b), {b.view(grouped(out)), b.view(groupedRows(lse))},
            partParameters(op, b),
            /*updates=*/!op.getOnto().empty());
  return success();
}

static LogicalResult lowerPartGrad(graph::AttentionPartGradOp op, Bufferizer &b) {
  SmallVector<Place> sums;
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    sums.push_back(sumPlace(result, op.getOnto(), i, op, b));
  b.library(op, "attention_part_grad", gradientInputs(op, b),
            {b.view(grouped(sums[0])), b.view(sums[1]), b.view(sums[2])}, partParameters(op, b),
            /*updates=*/!op.getOnto().empty());
  return success();
}

/// Dimensions before, at and after `dim` as three.
static Place asBox(const Place &place, int64_t dim, Bufferizer &b) {
  Place dense = b.dense(place, "rows");
  int64_t box[] = {1, dense.sizes[dim], 1};
  for (int64_t i = 0; i < dense.rank(); ++i)
    if (i != dim)
      box[i < dim ? 0 : 2] *= dense.sizes[i];
  return *dense.reshaped(box);
}

static LogicalResult lowerReorder(graph::ReorderOp op, Bufferizer &b) {
  Place x = asBox(b.placeOf(op.getX()), op.getDim(), b), y = asBox(b.place(op.getY()), op.getDim(), b);
  OpBuilder &builder = b.builder();
  b.library(op, "reorder", b.view(x), b.view(y),
            {b.communicators.coordinate(op.getOffsetAxes()), builder.getI64IntegerAttr(op.getChunks()),
             builder.getI64IntegerAttr(op.getInverse()), builder.getI64IntegerAttr(op.getFill())});
  return success();
}

void dtcc::exec::addAttentionRules(OpRules &rules) {
  OpRule &attention = rules[graph::AttentionOp::getOperationName()] = ruleOf<graph::AttentionOp, lowerAttention>();
  attention.writesStrided = true;
  OpRule &grad = rules[graph::AttentionGradOp::getOperationName()] =
      ruleOf<graph::AttentionGradOp, lowerAttentionGrad>();
  grad.writesStrided = true;
  rules[graph::AttentionPartOp::getOperationName()] = ruleOf<graph::AttentionPartOp, lowerPart>();
  rules[graph::AttentionPartGradOp::getOperationName()] = ruleOf<graph::AttentionPartGradOp, lowerPartGrad>();
  rules[graph::ReorderOp::getOperationName()] = ruleOf<graph::ReorderOp, lowerReorder>();
}
