//===- BatchNorm.cpp - Rules: batch normalisation
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In training form the statistics are those of the batch and the running ones move; in
// inference form it is an affine map per channel. Exporters write the inference form of
// modules in training mode, so --train-mode=force makes it the training form.
//
// Instance norms with running statistics have no operator in ONNX. tools/export writes
// them as an operator of its own domain, with a function for other runtimes.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/GroupNorm.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// The affine map by the running statistics, which are no parameters.
static LogicalResult inferenceForm(OpBinder &node, double eps) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  SmallVector<int64_t> channels(rankOf(x) - 1, 1);
  channels[0] = shapeOf(x)[1];
  auto perChannel = [&](unsigned i) { return emit.reshape(node.input(i), channels); };
  for (unsigned i : {3u, 4u})
    node.getImporter().states.markBuffer(node.proto().input(int(i)));
  Tensor variance = emit.add(perChannel(4), emit.scalar(eps, elementOf(node.input(4))));
  Tensor slope = emit.mul(emit.unary<graph::RsqrtOp>(variance), perChannel(1));
  return node.result(0, emit.add(emit.mul(emit.sub(x, perChannel(3)), slope), perChannel(2)));
}

LogicalResult dtcc::onnx::moveStatistics(OpBinder &node, const Tensor &mean, const Tensor &variance, double momentum,
                                         int64_t cells, bool unbiased) {
  Emitter &emit = node.emit();
  States &states = node.getImporter().states;
  OpBuilder &builder = emit.getBuilder();
  Tensor read[] = {node.input(3), node.input(4)};
  State *stored[] = {states.find(read[0]), states.find(read[1])};
  bool moves = stored[0] && stored[1];
  if (!moves && !node.wants(1) && !node.wants(2))
    return success();
  if (unbiased && cells < 2)
    return node.error("must have more than one cell per channel in training");
  Tensor before[] = {states.latest(read[0]), states.latest(read[1])};
  auto running = graph::RunningStatisticsOp::create(
      builder, emit.getLoc(), TypeRange{before[0]->type, before[1]->type}, emit.value(before[0]), emit.value(before[1]),
      emit.value(mean), emit.value(variance), builder.getF64FloatAttr(momentum), builder.getI64IntegerAttr(cells),
      unbiased ? builder.getUnitAttr() : UnitAttr(), builder.getI64IntegerAttr(1));
  for (unsigned i : {0u, 1u}) {
    Tensor moved = emit.fromValue(running->getResult(i));
    if (moves)
      states.write(*stored[i], moved);
    if (node.wants(1 + i) && failed(node.result(1 + i, moved)))
      return failure();
  }
  return success();
}

/// The statistics of the batch; running ones that are stored move by `momentum` of the new.
static LogicalResult trainingForm(OpBinder &node, double eps, double momentum) {
  Emitter &emit = node.emit();
  OpBuilder &builder = emit.getBuilder();
  Tensor x = node.input(0), scale = node.input(1), bias = node.input(2);
  SmallVector<int64_t> dims{0};
  llvm::append_range(dims, llvm::seq<int64_t>(2, rankOf(x)));
  RankedTensorType statistic = typeLike(x, shapeOf(x).take_front(2));
  auto norm = graph::BatchNormOp::create(
      builder, emit.getLoc(), TypeRange{x->type, statistic, statistic}, emit.value(x), emit.value(scale),
      emit.value(bias), builder.getDenseI64ArrayAttr(dims), builder.getF64FloatAttr(eps), builder.getI64IntegerAttr(1));
  // PyTorch moves the variance by the unbiased one, though ONNX says otherwise.
  bool unbiased = node.getImporter().source.isFromPyTorch();
  if (failed(moveStatistics(node, emit.fromValue(norm.getMean()), emit.fromValue(norm.getVariance()), momentum,
                            cellsOf(shapeOf(x)) / shapeOf(x)[1], unbiased)))
    return failure();
  return node.result(0, emit.fromValue(norm.getY()));
}

/// Scale, bias and running statistics have one cell of the image's type a channel.
static LogicalResult checkChannels(OpBinder &node) {
  Tensor x = node.input(0);
  for (unsigned i = 1; i < 5; ++i)
    if (rankOf(node.input(i)) != 1 || shapeOf(node.input(i))[0] != shapeOf(x)[1] ||
        elementOf(node.input(i)) != elementOf(x))
      return node.error("operand " + Twine(i) + " must hold " + Twine(shapeOf(x)[1]) +
                        " values of the image's type, one a channel");
  return success();
}

static LogicalResult batchNormRule(OpBinder &node) {
  Tensor x = node.input(0);
  if (rankOf(x) < 2 || !isFloat(x))
    return node.error("must normalise floats [n, c, ..], got: " + llvm::formatv("{0}", Type(x->type)).str());
  if (node.integer("spatial", 1) != 1)
    return node.error("must have statistics per channel (spatial 1)");
  if (failed(checkChannels(node)))
    return failure();
  double eps = node.real("epsilon", 1e-5f), kept = node.real("momentum", 0.9f);
  // Before version 14 more than one output said so.
  bool training = node.opset() < 14 ? node.wants(1) || node.wants(2) : node.integer("training_mode", 0) != 0;
  if (node.wants(3) || node.wants(4))
    return node.error("the outputs of saved statistics are not supported");
  if (!training && node.getImporter().source.forcesTraining()) {
    node.getImporter().noteOfNode(llvm::formatv("batch norm is switched to training: statistics of the batch, running "
                                                "statistics that move by {0:f3} (--train-mode=as-is keeps it as it is)",
                                                1 - kept)
                                      .str());
    training = true;
  }
  return training ? trainingForm(node, eps, 1 - kept) : inferenceForm(node, eps);
}

/// An instance norm that moves running statistics towards the average of its samples' (PyTorch's
/// track_running_stats=True). It is a layer norm of each channel, whose variance is 1 / rstd^2 - eps.
static LogicalResult trackedInstanceNormRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  if (rankOf(x) < 3 || !isFloat(x))
    return node.error("must have an image of floats [n, c, ..]");
  if (failed(checkChannels(node)))
    return failure();
  double eps = node.real("epsilon", 1e-5f), kept = node.real("momentum", 0.9f);
  GroupNorm norm = normaliseGroups(emit, x, shapeOf(x)[1], node.input(1), node.input(2), eps);
  Tensor variance = emit.sub(emit.div(emit.scalar(1, elementOf(norm.rstd)), emit.mul(norm.rstd, norm.rstd)),
                             emit.scalar(eps, elementOf(norm.rstd)));
  if (failed(moveStatistics(node, norm.mean, variance, 1 - kept, cellsOf(shapeOf(x).drop_front(2)),
                            /*unbiased=*/true)))
    return failure();
  return node.result(0, norm.y);
}

void dtcc::onnx::addBatchNormRules(RuleTable &table) {
  table.on("BatchNormalization", 7, {5, 5}, batchNormRule).takesVectors({1, 2, 3, 4});
  table.on("dtcc.TrackedInstanceNormalization", 1, {5, 5}, trackedInstanceNormRule);
}
