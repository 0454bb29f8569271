//===- ops/Microsoft.cpp - Forward operators of com.microsoft
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward pass of ONNX Runtime's training models has operators that the runtime
// fused, and training forms of standard ones, which compute the same. The runtime's list
// of contributed operators (ContribOperators.md) and the schemas of its training
// (training_op_defs.cc) define them.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Dropout.h"
#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Products.h"
#include "frontends/onnx/emit/Reductions.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// alpha * A B, with the last two dimensions of either swapped.
static LogicalResult fusedMatMulRule(OpBinder &node) {
  Emitter &emit = node.emit();
  if (node.integer("transBatchA", 0) != 0 || node.integer("transBatchB", 0) != 0)
    return node.error("transBatchA and transBatchB are not supported");
  auto operand = [&](unsigned i, StringRef swapped) {
    Tensor x = node.input(i);
    if (node.integer(swapped, 0) == 0 || rankOf(x) < 2)
      return x;
    SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
    std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
    return emit.transpose(x, permutation);
  };
  Tensor y = matmul(emit, operand(0, "transA"), operand(1, "transB"));
  double alpha = node.real("alpha", 1);
  return node.result(0, !y || alpha == 1 ? y : emit.mul(y, emit.scalar(alpha, elementOf(y))));
}

/// Gelu of the sum of the operands, the second of which may be absent.
template <graph::GeluForm form> static LogicalResult biasGeluRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.has(1) ? emit.add(node.input(0), node.input(1)) : node.input(0);
  return node.result(0, emit.unary<graph::GeluOp>(x, form));
}

static LogicalResult quickGeluRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), scaled = emit.mul(x, emit.scalar(node.real("alpha", 1.702f), elementOf(x)));
  return node.result(0, emit.mul(x, emit.unary<graph::LogisticOp>(scaled)));
}

/// Softmax of data + bias over the dimensions from `axis` on.
static LogicalResult biasSoftmaxRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), bias = node.input(1);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 1), rankOf(x));
  if (failed(axis))
    return failure();
  if (rankOf(bias) != rankOf(x))
    return node.error("the bias must have the rank of the data, " + Twine(rankOf(x)) + ", got: " + Twine(rankOf(bias)));
  return node.result(0, softmax(emit, emit.add(x, bias), llvm::to_vector(llvm::seq<int64_t>(*axis, rankOf(x))), false));
}

/// dropout(data + bias) + residual.
static LogicalResult biasDropoutRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor sum = emit.add(node.input(0), node.input(1)), y = sum ? dropout(node, sum, 3, 4) : nullptr;
  return node.result(0, y && node.has(2) ? emit.add(y, node.input(2)) : y);
}

/// Dropout whose mask is packed into bits, which only the backward pass of ONNX Runtime reads.
static LogicalResult bitmaskDropoutRule(OpBinder &node) {
  if (node.wants(1))
    return node.error("the mask of bits is not supported");
  return node.result(0, dropout(node, node.input(0), 1, 2));
}

/// Concat, whose second result is the length of each operand.
static LogicalResult concatTrainingRule(OpBinder &node) {
  Emitter &emit = node.emit();
  SmallVector<Tensor> xs = node.inputs();
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 0), rankOf(xs[0]));
  if (failed(axis))
    return failure();
  Tensor joined = emit.concat(xs, *axis);
  if (!joined)
    return failure();
  SmallVector<int64_t> lengths;
  for (const Tensor &x : xs)
    lengths.push_back(shapeOf(x)[*axis]);
  if (node.wants(1) && failed(node.result(1, emit.integers(lengths))))
    return failure();
  return node.result(0, joined);
}

void dtcc::onnx::addMicrosoftRules(RuleTable &table) {
  auto on = [&](StringRef op, std::pair<unsigned, unsigned> inputs, Rule rule) {
    table.on(("com.microsoft." + op).str(), 1, inputs, rule);
  };
  on("FusedMatMul", {2, 2}, ofFloats<fusedMatMulRule>);
  on("BiasGelu", {2, 2}, ofFloats<biasGeluRule<graph::GeluForm::exact>>);
  on("FastGelu", {1, 2}, ofFloats<biasGeluRule<graph::GeluForm::tanh>>);
  on("QuickGelu", {1, 1}, ofFloats<quickGeluRule>);
  on("BiasSoftmax", {2, 2}, ofFloats<biasSoftmaxRule>);
  on("BiasDropout", {2, 5}, ofFloats<biasDropoutRule>);
  on("BitmaskDropout", {1, 3}, ofFloats<bitmaskDropoutRule>);
  on("ConcatTraining", {1, kAnyNumber}, concatTrainingRule);

  table.alias("com.microsoft.Gelu", {1, 1}, "Gelu", 20);
  table.alias("com.microsoft.Trilu", {1, 2}, "Trilu", 14).keepsUnsigned();
  table.alias("com.microsoft.SplitTraining", {2, 2}, "Split", 13);
  table.alias("com.microsoft.ReduceSumTraining", {2, 2}, "ReduceSum", 13);
  table.alias("com.microsoft.BatchNormInternal", {5, 5}, "BatchNormalization", 15);
  table.alias("com.microsoft.SoftmaxCrossEntropyLossInternal", {2, 4}, "SoftmaxCrossEntropyLoss", 13);
  table.alias("com.microsoft.NegativeLogLikelihoodLossInternal", {2, 4}, "NegativeLogLikelihoodLoss", 13);
  table.alias("com.microsoft.NegativeLogLikelihoodLossInternal2", {2, 4}, "NegativeLogLikelihoodLoss", 13);
  // ONNX Runtime wrote norms into the default domain before that had them.
  for (StringRef domain : {"", "com.microsoft."}) {
    table.alias((domain + "LayerNormalization").str(), {2, 3}, "LayerNormalization", 17).takesVectors({1, 2});
    table.alias((domain + "SimplifiedLayerNormalization").str(), {2, 2}, "RMSNormalization", 23);
  }
}
