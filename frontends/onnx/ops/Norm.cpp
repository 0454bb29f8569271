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
  auto op = graph::LayerNormOp::create(
      builder, emit.getLoc(), TypeRange{x->type, statistics, statistics}, emit.value(x), emit.value(scale),
      emit.value(bias), builder.getDenseI64ArrayAttr(*dims), builder.getF64FloatAttr(node.real("epsilon", 1e-5)));
  // The statistics keep the normalised dimensions, with size 1.
  SmallVector<int64_t> kept(statistics.getShape());
  kept.append(dims->size(), 1);
  for (auto [i, value] : {std::pair(1u, Value(op.getMean())), std::pair(2u, Value(op.getRstd()))})
    if (node.wants(i) && failed(node.result(i, emit.reshape(emit.fromValue(value), kept))))
      return failure();
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

void dtcc::onnx::addNormRules(RuleTable &table) {
  table.on("LayerNormalization", 17, {2, 3}, layerNormRule);
  table.on("RMSNormalization", 23, {2, 2}, rmsNormRule);
}
