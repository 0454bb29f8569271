//===- ops/Norm.cpp - Layer and RMS normalisation
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/GroupNorm.h"
#include "frontends/onnx/emit/Products.h"
#include "frontends/onnx/emit/Reductions.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// The normalised dimensions of a norm: from `axis` to the last. Scale and bias are brought to their shape.
static FailureOr<SmallVector<int64_t>> normDims(OpBinder &node, Tensor &scale, Tensor *bias) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", -1), rankOf(x));
  if (failed(axis))
    return failure();
  if (!isFloat(x) || node.integer("stash_type", 1) != 1)
    return node.error("must normalise floats with statistics in float (stash_type 1)");
  ArrayRef<int64_t> shape = shapeOf(x).drop_front(*axis);
  for (Tensor *vector : {&scale, bias})
    if (vector && !(*vector = emit.broadcastTo(*vector, shape)))
      return failure();
  return llvm::to_vector(llvm::seq<int64_t>(*axis, rankOf(x)));
}

/// The band of a local response has the square of them.
static constexpr int64_t kMostChannels = 4096;

static RankedTensorType statisticsType(const Tensor &x, ArrayRef<int64_t> dims) {
  return RankedTensorType::get(shapeOf(x).drop_back(dims.size()), elementOf(x));
}

static LogicalResult layerNormRule(OpBinder &node) {
  Emitter &emit = node.emit();
  OpBuilder &builder = emit.getBuilder();
  Tensor x = node.input(0), scale = node.input(1);
  Tensor bias = node.has(2) ? node.input(2) : emit.scalar(0, elementOf(x));
  FailureOr<SmallVector<int64_t>> dims = normDims(node, scale, &bias);
  if (failed(dims))
    return failure();
  RankedTensorType statistics = statisticsType(x, *dims);
  double epsilon = node.real("epsilon", 1e-5);
  auto op = graph::LayerNormOp::create(builder, emit.getLoc(), TypeRange{x->type, statistics, statistics},
                                       emit.value(x), emit.value(scale), emit.value(bias),
                                       builder.getDenseI64ArrayAttr(*dims), builder.getF64FloatAttr(epsilon));
  // Statistics that the model reads are computed apart: those of the op have no gradient.
  if (node.wants(1) || node.wants(2)) {
    Tensor center = mean(emit, x, *dims, /*keep=*/true), centered = emit.sub(x, center);
    Tensor variance = mean(emit, emit.mul(centered, centered), *dims, /*keep=*/true);
    Tensor inverse = emit.unary<graph::RsqrtOp>(emit.add(variance, emit.scalar(epsilon, elementOf(x))));
    if ((node.wants(1) && failed(node.result(1, center))) || (node.wants(2) && failed(node.result(2, inverse))))
      return failure();
  }
  return node.result(0, emit.fromValue(op.getY()));
}

static LogicalResult rmsNormRule(OpBinder &node) {
  Emitter &emit = node.emit();
  OpBuilder &builder = emit.getBuilder();
  Tensor x = node.input(0), scale = node.input(1);
  FailureOr<SmallVector<int64_t>> dims = normDims(node, scale, nullptr);
  if (failed(dims))
    return failure();
  auto op = graph::RmsNormOp::create(builder, emit.getLoc(), TypeRange{x->type, statisticsType(x, *dims)},
                                     emit.value(x), emit.value(scale), builder.getDenseI64ArrayAttr(*dims),
                                     builder.getF64FloatAttr(node.real("epsilon", 1e-5)));
  return node.result(0, emit.fromValue(op.getY()));
}

/// Cells [n, groups, c..] over the dimensions behind the second, then scale and bias of `channels` each.
static LogicalResult groupNorm(OpBinder &node, int64_t groups) {
  Tensor x = node.input(0), scale = node.input(1), bias = node.input(2);
  if (rankOf(x) < 3 || !isFloat(x))
    return node.error("must have an image of floats [n, c, ..]");
  int64_t channels = shapeOf(x)[1];
  if (groups < 1 || channels % groups || shapeOf(scale) != ArrayRef(channels) || shapeOf(bias) != ArrayRef(channels))
    return node.error("groups must divide the channels, and scale and bias have one cell a channel, got: " +
                      Twine(groups) + " groups of " + Twine(channels) + " channels");
  return node.result(0, normaliseGroups(node.emit(), x, groups, scale, bias, node.real("epsilon", 1e-5)).y);
}

static LogicalResult instanceNormRule(OpBinder &node) {
  return groupNorm(node, rankOf(node.input(0)) < 2 ? 0 : shapeOf(node.input(0))[1]);
}

static LogicalResult groupNormRule(OpBinder &node) {
  if (node.integer("stash_type", 1) != 1)
    return node.error("must have statistics in float (stash_type 1)");
  return groupNorm(node, node.integer("num_groups", 0));
}

/// x / (bias + alpha / size * (sum of the squares of the `size` channels around))^beta. The sums are one product with a
/// band of ones: its gradient, its placement and its kernels are those of products.
static LogicalResult localResponseRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  int64_t size = node.integer("size", 0);
  if (rankOf(x) < 3)
    return node.error("must have an image [n, c, ..], got rank: " + Twine(rankOf(x)));
  int64_t channels = shapeOf(x)[1];
  if (size < 1 || channels > kMostChannels)
    return node.error("size must be at least 1, over at most " + Twine(kMostChannels) +
                      " channels, got: " + Twine(size) + " over " + Twine(channels));
  HostTensor band({channels, channels}, elementOf(x));
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t k = std::max<int64_t>(c - (size - 1) / 2, 0); k < channels && k <= c + size / 2; ++k)
      band.floats[c * channels + k] = 1;
  std::string cells = StringRef("defghijk").take_front(rankOf(x) - 2).str();
  if (static_cast<int64_t>(cells.size()) != rankOf(x) - 2)
    return node.error("must have at most 8 spatial dimensions, got: " + Twine(rankOf(x) - 2));
  Tensor table = emit.fromValue(graph::ConstantOp::create(emit.getBuilder(), emit.getLoc(),
                                                          RankedTensorType::get(band.shape, elementOf(x)),
                                                          cast<ElementsAttr>(band.toAttribute())));
  Tensor sums = contract(emit, "nc" + cells + ",mc->nm" + cells, emit.mul(x, x), table);
  auto scalar = [&](double value) { return emit.scalar(value, elementOf(x)); };
  double share = node.real("alpha", 1e-4f) / static_cast<double>(size);
  Tensor base = emit.add(emit.mul(sums, scalar(share)), scalar(node.real("bias", 1)));
  return node.result(0, emit.div(x, emit.binary<graph::PowOp>(base, scalar(node.real("beta", 0.75)))));
}

/// (x - mean) / (deviation + 1e-9) over `axes`.
static LogicalResult meanVarianceRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  SmallVector<int64_t> axes = node.integers("axes").value_or(SmallVector<int64_t>{0, 2, 3});
  for (int64_t &axis : axes) {
    FailureOr<int64_t> dim = node.axis(axis, rankOf(x));
    if (failed(dim))
      return failure();
    axis = *dim;
  }
  Tensor centered = emit.sub(x, mean(emit, x, axes, /*keep=*/true));
  Tensor deviation = emit.unary<graph::SqrtOp>(mean(emit, emit.mul(centered, centered), axes, /*keep=*/true));
  return node.result(0, emit.div(centered, emit.add(deviation, emit.scalar(1e-9, elementOf(x)))));
}

void dtcc::onnx::addNormRules(RuleTable &table) {
  table.on("InstanceNormalization", 6, {3, 3}, instanceNormRule);
  table.on("GroupNormalization", 21, {3, 3}, groupNormRule).takesVectors({1, 2});
  table.on("LayerNormalization", 17, {2, 3}, layerNormRule).takesVectors({1, 2});
  table.on("RMSNormalization", 23, {2, 2}, rmsNormRule).takesVectors({1});
  table.on("LRN", 1, {1, 1}, ofFloats<localResponseRule>);
  table.on("MeanVarianceNormalization", 9, {1, 1}, ofFloats<meanVarianceRule>);
}
