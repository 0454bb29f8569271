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
#include "frontends/onnx/emit/Folds.h"
#include "frontends/onnx/emit/Reductions.h"

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

template <Reduction Kind, int64_t Since> static LogicalResult reduceRule(OpBinder &node) {
  FailureOr<SmallVector<int64_t>> dims = reducedAxes(node, Since);
  if (failed(dims))
    return failure();
  return node.result(0, reduce(node.emit(), Kind, node.input(0), *dims, node.integer("keepdims", 1)));
}

static LogicalResult meanRule(OpBinder &node) {
  FailureOr<SmallVector<int64_t>> dims = reducedAxes(node, 18);
  if (failed(dims))
    return failure();
  return node.result(0, mean(node.emit(), node.input(0), *dims, node.integer("keepdims", 1)));
}

/// Integers have no absolute value op.
static Tensor magnitude(Emitter &emit, const Tensor &x) {
  if (x && !isFloat(x))
    return emit.binary<graph::MaxOp>(x, emit.sub(emit.scalar(0, elementOf(x)), x));
  return emit.unary<graph::AbsOp>(x);
}

/// Sums of what becomes of a cell, and what becomes of the sum.
enum class Norm { l1, l2, sumOfSquares, logOfSum };
static Tensor normOf(Emitter &emit, Norm norm, const Tensor &x, ArrayRef<int64_t> dims, bool keep) {
  Tensor cells = norm == Norm::l1 ? magnitude(emit, x) : norm == Norm::logOfSum ? x : emit.mul(x, x);
  Tensor sum = reduce(emit, Reduction::Sum, cells, dims, keep);
  if (norm == Norm::l2 && sum) {
    // The gradient of a root has no value at 0. That of the norm of zeros is 0, as in PyTorch.
    Tensor zero = emit.scalar(0, elementOf(sum)), isZero = emit.compare(graph::Predicate::eq, sum, zero);
    Tensor root = emit.unary<graph::SqrtOp>(emit.select(isZero, emit.scalar(1, elementOf(sum)), sum));
    return emit.select(isZero, zero, root);
  }
  return norm == Norm::logOfSum ? emit.unary<graph::LogOp>(sum) : sum;
}

template <Norm Kind> static LogicalResult normRule(OpBinder &node) {
  FailureOr<SmallVector<int64_t>> dims = reducedAxes(node, 18);
  if (failed(dims))
    return failure();
  return node.result(0, normOf(node.emit(), Kind, node.input(0), *dims, node.integer("keepdims", 1)));
}

/// log(sum exp(x)) = m + log(sum exp(x - m)) for the maximum m, which does not overflow.
static LogicalResult logSumExpRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<SmallVector<int64_t>> dims = reducedAxes(node, 18);
  if (failed(dims))
    return failure();
  Tensor most = reduce(emit, Reduction::Max, x, *dims, /*keep=*/true);
  // The sum of rows that are masked whole is log(0), and not the difference of two infinities.
  Tensor isFinite =
      emit.compare(graph::Predicate::lt, emit.unary<graph::AbsOp>(most), emit.scalar(INFINITY, elementOf(x)));
  most = emit.select(isFinite, most, emit.scalar(0, elementOf(x)));
  Tensor small = emit.unary<graph::ExpOp>(emit.sub(x, most));
  Tensor sum = emit.add(most, normOf(emit, Norm::logOfSum, small, *dims, /*keep=*/true));
  return node.result(0, node.integer("keepdims", 1) || !sum ? sum
                                                            : reduce(emit, Reduction::Sum, sum, *dims, /*keep=*/false));
}

static LogicalResult lpNormalizationRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", -1), rankOf(x));
  int64_t p = node.integer("p", 2);
  if (failed(axis))
    return failure();
  if (p != 1 && p != 2)
    return node.error("p must be 1 or 2, got: " + Twine(p));
  // Zeros stay zeros.
  Tensor norm = normOf(emit, p == 1 ? Norm::l1 : Norm::l2, x, {*axis}, /*keep=*/true);
  Tensor empty = emit.compare(graph::Predicate::eq, norm, emit.scalar(0, elementOf(x)));
  return node.result(0, emit.div(x, emit.select(empty, emit.scalar(1, elementOf(x)), norm)));
}

static LogicalResult productRule(OpBinder &node) {
  std::shared_ptr<const HostTensor> cells = isFloat(node.input(0)) ? nullptr : knownCells(node.input(0));
  FailureOr<SmallVector<int64_t>> dims = reducedAxes(node, 18);
  if (failed(dims))
    return failure();
  if (!cells || int64_t(dims->size()) != cells->rank())
    return node.result(0, product(node.emit(), node.input(0), *dims, node.integer("keepdims", 1)));
  // Shape arithmetic.
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
  return node.result(0, softmax(node.emit(), x, {*axis}, Log));
}

/// Before operator set 13 all dimensions from `axis` on are normalised together.
template <bool Log> static LogicalResult coercingSoftmaxRule(OpBinder &node) {
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 1), rankOf(x));
  if (failed(axis))
    return failure();
  return node.result(0, softmax(node.emit(), x, llvm::to_vector(llvm::seq<int64_t>(*axis, rankOf(x))), Log));
}

void dtcc::onnx::addReductionRules(RuleTable &table) {
  table.on("ReduceSum", 1, {1, 2}, reduceRule<Reduction::Sum, 13>).wrapsUnsigned();
  table.on("ReduceMax", 1, {1, 2}, reduceRule<Reduction::Max, 18>).keepsUnsigned();
  table.on("ReduceMin", 1, {1, 2}, reduceRule<Reduction::Min, 18>).keepsUnsigned();
  table.on("ReduceMean", 1, {1, 2}, ofFloats<meanRule>);
  table.on("ReduceL1", 1, {1, 2}, normRule<Norm::l1>);
  table.on("ReduceL2", 1, {1, 2}, ofFloats<normRule<Norm::l2>>);
  table.on("ReduceSumSquare", 1, {1, 2}, normRule<Norm::sumOfSquares>);
  table.on("ReduceLogSum", 1, {1, 2}, ofFloats<normRule<Norm::logOfSum>>);
  table.on("ReduceLogSumExp", 1, {1, 2}, ofFloats<logSumExpRule>);
  table.on("LpNormalization", 1, {1, 1}, ofFloats<lpNormalizationRule>);
  table.on("ReduceProd", 1, {1, 2}, productRule).wrapsUnsigned();
  table.on("Softmax", 1, {1, 1}, ofFloats<coercingSoftmaxRule<false>>);
  table.on("Softmax", 13, {1, 1}, ofFloats<softmaxRule<false>>);
  table.on("LogSoftmax", 1, {1, 1}, ofFloats<coercingSoftmaxRule<true>>);
  table.on("LogSoftmax", 13, {1, 1}, ofFloats<softmaxRule<true>>);
}
