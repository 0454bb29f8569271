//===- ops/Loss.cpp - Losses as a sum and a count
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Losses.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Indexing.h"
#include "frontends/onnx/emit/Logic.h"
#include "frontends/onnx/emit/Reductions.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// A reshape looked through: what is below it, if that drops no order.
static Value belowReshape(Value value) {
  auto reshape = value.getDefiningOp<graph::ReshapeOp>();
  return reshape ? Value(reshape.getX()) : value;
}

/// The dimension of which a slice cuts one cell, at the start or the end; -1 if it does anything else.
static int64_t cutDimension(graph::SliceOp slice, int64_t offset) {
  if (!slice)
    return -1;
  auto from = cast<RankedTensorType>(slice.getX().getType()), to = cast<RankedTensorType>(slice.getY().getType());
  int64_t found = -1;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    if (slice.getStrides()[dim] != 1)
      return -1;
    if (from.getDimSize(dim) == to.getDimSize(dim))
      continue;
    if (found >= 0 || from.getDimSize(dim) != to.getDimSize(dim) + 1 || slice.getOffsets()[dim] != offset)
      return -1;
    found = dim;
  }
  return found;
}

/// `logits[:, :-1]` against `labels[:, 1:]` becomes whole logits against shifted labels, whose last is ignored: an
/// odd length would not split over devices.
static void unsliceShifted(Emitter &emit, Tensor &logits, Tensor &labels, std::optional<int64_t> &ignoreIndex) {
  auto rowsCut = belowReshape(emit.value(logits)).getDefiningOp<graph::SliceOp>();
  auto labelsCut = belowReshape(emit.value(labels)).getDefiningOp<graph::SliceOp>();
  int64_t dim = cutDimension(rowsCut, 0);
  if (dim < 0 || cutDimension(labelsCut, 1) != dim)
    return;
  auto whole = cast<RankedTensorType>(rowsCut.getX().getType());
  auto ids = cast<RankedTensorType>(labelsCut.getX().getType());
  if (whole.getShape().drop_back() != ids.getShape() || whole.getShape().back() != shapeOf(logits).back())
    return;
  if (!ignoreIndex)
    ignoreIndex = -100;
  OpBuilder &builder = emit.getBuilder();
  logits = emit.fromValue(rowsCut.getX());
  labels = emit.fromValue(graph::ShiftOp::create(builder, emit.getLoc(), ids, labelsCut.getX(), dim, 1, *ignoreIndex));
}

/// The end of a message about labels that do not suit `rows` (cells, a row of classes each): ", got: [48] for [20, 7]".
static std::string gotShapes(const Tensor &labels, const Tensor &rows) {
  auto sizes = [](const Tensor &x) {
    return llvm::join(llvm::map_range(shapeOf(x), [](int64_t size) { return std::to_string(size); }), ", ");
  };
  return ", got: " + std::string(isFloat(labels) ? "floats " : "") + "[" + sizes(labels) + "] for [" + sizes(rows) +
         "]";
}

Tensor dtcc::onnx::crossEntropy(Emitter &emit, Tensor logits, Tensor labels, std::optional<int64_t> ignoreIndex) {
  if (!logits || !labels)
    return nullptr;
  if (rankOf(logits) < 1 || !isFloat(logits) || isFloat(labels) || shapeOf(logits).drop_back() != shapeOf(labels))
    return emit.error("labels must be integers of the shape of the logits without their classes" +
                      gotShapes(labels, logits));
  unsliceShifted(emit, logits, labels, ignoreIndex);
  OpBuilder &builder = emit.getBuilder();
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  auto rows = RankedTensorType::get(shapeOf(labels), elementOf(logits));
  auto op = graph::CrossEntropyOp::create(builder, emit.getLoc(), TypeRange{scalar, scalar, rows}, emit.value(logits),
                                          emit.value(labels),
                                          ignoreIndex ? builder.getI64IntegerAttr(*ignoreIndex) : IntegerAttr());
  auto mean = std::make_shared<TensorData>();
  mean->type = scalar;
  mean->sum = emit.fromValue(op.getSum());
  mean->count = emit.fromValue(op.getCount());
  return mean;
}

/// [n, c, d..] -> [n, d.., c].
static Tensor classesLast(Emitter &emit, const Tensor &x) {
  SmallVector<int64_t> permutation = {0};
  llvm::append_range(permutation, llvm::seq<int64_t>(2, rankOf(x)));
  permutation.push_back(1);
  return emit.transpose(x, permutation);
}

/// The label that is not counted, if the node names one. ONNX Runtime's internal forms have it as an operand.
static std::optional<int64_t> ignoredLabel(OpBinder &node) {
  if (node.has(3))
    if (std::optional<double> label = knownSplat(node.input(3)))
      return static_cast<int64_t>(*label);
  return node.hasAttribute("ignore_index") ? std::optional(node.integer("ignore_index", -100)) : std::nullopt;
}

/// The loss row by row, from log-probabilities [.., c]: rows of their own, or with class weights, which no op knows.
static LogicalResult finishRows(OpBinder &node, const Tensor &logs, StringRef reduction) {
  Emitter &emit = node.emit();
  Tensor labels = node.input(1), weights = node.input(2);
  if (isFloat(labels) || shapeOf(logs).drop_back() != shapeOf(labels) ||
      (weights && shapeOf(weights) != shapeOf(logs).take_back()))
    return node.error("labels must be integers of the shape of the scores without their classes, weights one a class" +
                      gotShapes(labels, logs));
  int64_t classes = shapeOf(logs).back(), last = rankOf(labels);
  // An ignored label names no class.
  Tensor flags = oneHot(emit, labels, classes, last);
  if (std::optional<int64_t> ignored = ignoredLabel(node)) {
    Tensor counted = emit.compare(graph::Predicate::ne, labels, emit.scalar(*ignored, elementOf(labels)));
    flags = logicalAnd(emit, flags, unsqueeze(emit, counted, last));
  }
  Tensor zero = emit.scalar(0, elementOf(logs)), weight = weights ? weights : emit.scalar(1, elementOf(logs));
  auto sum = [&](const Tensor &x, ArrayRef<int64_t> dims) {
    return reduce(emit, Reduction::Sum, x, dims, /*keep=*/false);
  };
  Tensor terms = emit.select(flags, emit.mul(emit.unary<graph::NegOp>(logs), weight), zero);
  if (reduction == "none")
    return node.result(0, sum(terms, {last}));
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, last + 1));
  Tensor total = sum(terms, all);
  if (!total || reduction == "sum")
    return node.result(0, total);
  auto mean = std::make_shared<TensorData>();
  Type f32 = emit.getBuilder().getF32Type();
  mean->type = RankedTensorType::get({}, f32);
  mean->sum = emit.cast(total, f32);
  mean->count = emit.cast(sum(emit.select(flags, weight, zero), all), f32);
  return node.result(0, mean);
}

static FailureOr<std::string> reductionOf(OpBinder &node) {
  std::string reduction = node.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return node.error("reduction must be none, mean or sum, got: " + reduction);
  return reduction;
}

/// Whether one op computes the loss from scores.
static bool isPlain(OpBinder &node, StringRef reduction) { return !node.has(2) && reduction != "none"; }

static LogicalResult finishPlain(OpBinder &node, const Tensor &scores, StringRef reduction) {
  Tensor loss = crossEntropy(node.emit(), scores, node.input(1), ignoredLabel(node));
  if (loss && reduction == "sum")
    loss = node.emit().cast(loss->sum, elementOf(scores));
  return node.result(0, loss);
}

static LogicalResult softmaxCrossEntropyRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor scores = node.input(0);
  FailureOr<std::string> reduction = reductionOf(node);
  if (failed(reduction))
    return failure();
  if (rankOf(scores) < 2)
    return node.error("scores must be [n, c, ..]");
  if (node.wants(1) && failed(node.result(1, softmax(emit, scores, {1}, true))))
    return failure();
  Tensor turned = classesLast(emit, scores);
  if (isPlain(node, *reduction))
    return finishPlain(node, turned, *reduction);
  return finishRows(node, softmax(emit, turned, {rankOf(turned) - 1}, true), *reduction);
}

static LogicalResult negativeLogLikelihoodRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<std::string> reduction = reductionOf(node);
  if (failed(reduction))
    return failure();
  if (rankOf(x) < 2 || !isFloat(x))
    return node.error("log-probabilities must be floats [n, c, ..]");
  auto softmax = x->value ? x->value.getDefiningOp<graph::SoftmaxOp>() : graph::SoftmaxOp();
  if (softmax && softmax.getLog() && softmax.getDims() == ArrayRef<int64_t>{1} && isPlain(node, *reduction))
    return finishPlain(node, classesLast(emit, emit.fromValue(softmax.getX())), *reduction);
  return finishRows(node, classesLast(emit, x), *reduction);
}

void dtcc::onnx::addLossRules(RuleTable &table) {
  table.on("SoftmaxCrossEntropyLoss", 12, {2, 3}, softmaxCrossEntropyRule);
  table.on("NegativeLogLikelihoodLoss", 12, {2, 3}, negativeLogLikelihoodRule);
}
