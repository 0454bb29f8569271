//===- ops/Activations.cpp - Activations that are some elementwise ops long
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They are written out: one kernel computes them all the same, and their gradients follow, at
// their kinks as PyTorch's. A value that stands at a bound counts as clamped: no gradient.
// If one side of a choice is an exponential, its argument is clamped first, so that the
// side that is not taken neither overflows nor sends NaN back.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Losses.h"
#include "frontends/onnx/Rules.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using graph::Predicate;

static Tensor times(Emitter &emit, const Tensor &x, double factor) {
  return factor == 1 ? x : emit.mul(x, emit.scalar(factor, elementOf(x)));
}

static Tensor plus(Emitter &emit, const Tensor &x, double summand) {
  return summand == 0 ? x : emit.add(x, emit.scalar(summand, elementOf(x)));
}

/// `above` where x > limit, else `below`.
static Tensor choose(Emitter &emit, const Tensor &x, double limit, const Tensor &above, const Tensor &below) {
  return emit.select(emit.compare(Predicate::gt, x, emit.scalar(limit, elementOf(x))), above, below);
}

/// `inside`, but `below` where x <= low, and `above` where x >= high.
static Tensor between(Emitter &emit, const Tensor &x, double low, double high, const Tensor &inside,
                      const Tensor &below, const Tensor &above) {
  Tensor isBelow = emit.compare(Predicate::le, x, emit.scalar(low, elementOf(x)));
  Tensor isAbove = emit.compare(Predicate::ge, x, emit.scalar(high, elementOf(x)));
  return emit.select(isAbove, above, emit.select(isBelow, below, inside));
}

/// scale * (x above 0, height * (exp(x / width) - 1) below).
static Tensor exponentialBelow(Emitter &emit, const Tensor &x, double height, double width, double scale) {
  Tensor cut = choose(emit, x, 0, emit.scalar(0, elementOf(x)), x);
  Tensor below = times(emit, plus(emit, emit.unary<graph::ExpOp>(times(emit, cut, 1 / width)), -1), height);
  return times(emit, choose(emit, x, 0, x, below), scale);
}

static LogicalResult geluRule(OpBinder &node) {
  std::string form = node.text("approximate", "none");
  if (form != "none" && form != "tanh")
    return node.error("approximate must be none or tanh, got: " + form);
  return node.result(0, node.emit().unary<graph::GeluOp>(node.input(0), form == "tanh" ? graph::GeluForm::tanh
                                                                                       : graph::GeluForm::exact));
}

static LogicalResult leakyReluRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  return node.result(0, choose(emit, x, 0, x, times(emit, x, node.real("alpha", 0.01))));
}

static LogicalResult preluRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  return node.result(0, choose(emit, x, 0, x, emit.mul(x, node.input(1))));
}

/// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), which neither overflows nor vanishes below 0. The slopes of one
/// side at 0 add up to 1/2, so that the gradient is sigmoid(x) there too. Null if `x` is.
Tensor dtcc::onnx::softplus(Emitter &emit, const Tensor &x) {
  if (!x)
    return nullptr;
  Tensor zero = emit.scalar(0, elementOf(x)), isAbove = emit.compare(graph::Predicate::gt, x, zero);
  Tensor below = emit.select(isAbove, emit.unary<graph::NegOp>(x), x);
  return emit.add(emit.select(isAbove, x, zero), emit.unary<graph::Log1pOp>(emit.unary<graph::ExpOp>(below)));
}
static LogicalResult softplusRule(OpBinder &node) { return node.result(0, softplus(node.emit(), node.input(0))); }

static LogicalResult mishRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  return node.result(0, emit.mul(x, emit.unary<graph::TanhOp>(softplus(emit, x))));
}

static LogicalResult swishRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  return node.result(0, emit.mul(x, emit.unary<graph::LogisticOp>(times(emit, x, node.real("alpha", 1)))));
}

static LogicalResult softsignRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  return node.result(0, emit.div(x, plus(emit, emit.unary<graph::AbsOp>(x), 1)));
}

static LogicalResult eluRule(OpBinder &node) {
  return node.result(0, exponentialBelow(node.emit(), node.input(0), node.real("alpha", 1), 1, 1));
}

static LogicalResult celuRule(OpBinder &node) {
  double alpha = node.real("alpha", 1);
  return node.result(0, exponentialBelow(node.emit(), node.input(0), alpha, alpha, 1));
}

static LogicalResult seluRule(OpBinder &node) {
  // The defaults are those of the operator's definition.
  double alpha = node.real("alpha", 1.67326319217681884765625), gamma = node.real("gamma", 1.05070102214813232421875);
  return node.result(0, exponentialBelow(node.emit(), node.input(0), alpha, 1, gamma));
}

static LogicalResult hardSigmoidRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor line = plus(emit, times(emit, node.input(0), node.real("alpha", 0.2)), node.real("beta", 0.5));
  return node.result(0,
                     between(emit, line, 0, 1, line, emit.scalar(0, elementOf(line)), emit.scalar(1, elementOf(line))));
}

static LogicalResult hardSwishRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), inside = emit.mul(x, plus(emit, times(emit, x, 1.0 / 6), 0.5));
  return node.result(0, between(emit, x, -3, 3, inside, emit.scalar(0, elementOf(x)), x));
}

static LogicalResult thresholdedReluRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  return node.result(0, choose(emit, x, node.real("alpha", 1), x, emit.scalar(0, elementOf(x))));
}

static LogicalResult shrinkRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  double limit = node.real("lambd", 0.5), bias = node.real("bias", 0);
  Tensor below = emit.select(emit.compare(Predicate::lt, x, emit.scalar(-limit, elementOf(x))), plus(emit, x, bias),
                             emit.scalar(0, elementOf(x)));
  return node.result(0, choose(emit, x, limit, plus(emit, x, -bias), below));
}

void dtcc::onnx::addActivationRules(RuleTable &table) {
  table.on("Gelu", 20, {1, 1}, ofFloats<geluRule>);
  table.on("LeakyRelu", 6, {1, 1}, ofFloats<leakyReluRule>);
  table.on("PRelu", 7, {2, 2}, ofFloats<preluRule>);
  table.on("Softplus", 1, {1, 1}, ofFloats<softplusRule>);
  table.on("Softsign", 1, {1, 1}, ofFloats<softsignRule>);
  table.on("Mish", 18, {1, 1}, ofFloats<mishRule>);
  table.on("Swish", 24, {1, 1}, ofFloats<swishRule>);
  table.on("Elu", 6, {1, 1}, ofFloats<eluRule>);
  table.on("Celu", 12, {1, 1}, ofFloats<celuRule>);
  table.on("Selu", 6, {1, 1}, ofFloats<seluRule>);
  table.on("HardSigmoid", 6, {1, 1}, ofFloats<hardSigmoidRule>);
  table.on("HardSwish", 14, {1, 1}, ofFloats<hardSwishRule>);
  table.on("ThresholdedRelu", 10, {1, 1}, ofFloats<thresholdedReluRule>);
  table.on("Shrink", 9, {1, 1}, ofFloats<shrinkRule>);
}
