//===- ops/Reduction.cpp - Sums, means and extremes
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

/// The axes of a reduction; without any, all or (noop_with_empty_axes) none.
static FailureOr<SmallVector<int64_t>> reducedAxes(OpBinder &node, int64_t axesAreOperandSince) {
  int64_t rank = rankOf(node.input(0));
  FailureOr<std::optional<SmallVector<int64_t>>> axes = node.axes(1, axesAreOperandSince, rank);
  if (failed(axes))
    return failure();
  if (*axes && !(*axes)->empty())
    return **axes;
  if (node.integer("noop_with_empty_axes", 0))
    return SmallVector<int64_t>();
  return SmallVector<int64_t>(llvm::to_vector<6>(llvm::seq<int64_t>(0, rank)));
}

template <graph::ReduceKind Kind, int64_t Since> static LogicalResult reduceRule(OpBinder &node) {
  FailureOr<SmallVector<int64_t>> dims = reducedAxes(node, Since);
  if (failed(dims))
    return failure();
  return node.result(0, node.emit().reduce(Kind, node.input(0), *dims, node.integer("keepdims", 1)));
}

static LogicalResult meanRule(OpBinder &node) {
  FailureOr<SmallVector<int64_t>> dims = reducedAxes(node, 18);
  if (failed(dims))
    return failure();
  if (!isFloat(node.input(0)))
    return node.error("must have a float operand");
  return node.result(0, node.emit().mean(node.input(0), *dims, node.integer("keepdims", 1)));
}

/// Products occur in shape arithmetic only.
static LogicalResult productRule(OpBinder &node) {
  std::shared_ptr<const HostTensor> cells = isFloat(node.input(0)) ? nullptr : node.emit().known(node.input(0));
  FailureOr<SmallVector<int64_t>> dims = reducedAxes(node, 18);
  if (failed(dims))
    return failure();
  if (!cells || int64_t(dims->size()) != cells->rank())
    return node.error("must reduce all of an integer tensor known at compile time");
  int64_t product = 1;
  for (int64_t cell : cells->ints)
    if (llvm::MulOverflow(product, cell, product))
      return node.error("the product is too large");
  SmallVector<int64_t> shape(node.integer("keepdims", 1) ? cells->rank() : 0, 1);
  return node.result(
      0, node.emit().cast(node.emit().reshape(node.emit().integers({product}), shape), elementOf(node.input(0))));
}

template <bool Log> static LogicalResult softmaxRule(OpBinder &node) {
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", -1), rankOf(x));
  if (failed(axis))
    return failure();
  return node.result(0, node.emit().softmax(x, {*axis}, Log));
}

/// Before operator set 13 all dimensions from `axis` on are normalised together.
template <bool Log> static LogicalResult coercingSoftmaxRule(OpBinder &node) {
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 1), rankOf(x));
  if (failed(axis))
    return failure();
  return node.result(0, node.emit().softmax(x, llvm::to_vector(llvm::seq<int64_t>(*axis, rankOf(x))), Log));
}

void dtcc::onnx::addReductionRules(RuleTable &table) {
  table.on("ReduceSum", 1, {1, 2}, reduceRule<graph::ReduceKind::sum, 13>);
  table.on("ReduceMax", 1, {1, 2}, reduceRule<graph::ReduceKind::max, 18>);
  table.on("ReduceMin", 1, {1, 2}, reduceRule<graph::ReduceKind::min, 18>);
  table.on("ReduceMean", 1, {1, 2}, meanRule);
  table.on("ReduceProd", 1, {1, 2}, productRule);
  table.on("Softmax", 1, {1, 1}, coercingSoftmaxRule<false>);
  table.on("Softmax", 13, {1, 1}, softmaxRule<false>);
  table.on("LogSoftmax", 1, {1, 1}, coercingSoftmaxRule<true>);
  table.on("LogSoftmax", 13, {1, 1}, softmaxRule<true>);
}
