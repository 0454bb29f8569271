//===- ops/LogOnePlus.cpp - Logarithms of what is near 1
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/ops/LogOnePlus.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// log(1 + x) = 2 artanh(s) with s = x / (2 + x), at most 1/3, for which the series 2 (s + s^3 / 3 + ..) leaves out
/// 2e-9 of its value behind eight terms (Abramowitz and Stegun, 4.1.27). No branches: the gradient follows.
Tensor dtcc::onnx::logOnePlus(Emitter &emit, const Tensor &x) {
  if (!x || (!elementOf(x).isF32() && !elementOf(x).isF64()))
    return x ? emit.cast(logOnePlus(emit, emit.cast(x, emit.getBuilder().getF32Type())), elementOf(x)) : nullptr;
  auto scalar = [&](double value) { return emit.scalar(value, elementOf(x)); };
  Tensor s = emit.div(x, emit.add(x, scalar(2)));
  Tensor square = emit.mul(s, s), sum = scalar(2.0 / 15);
  for (int odd = 13; odd > 0; odd -= 2)
    sum = emit.add(emit.mul(sum, square), scalar(2.0 / odd));
  return emit.mul(sum, s);
}

Tensor dtcc::onnx::logOnePlusAny(Emitter &emit, const Tensor &x) {
  if (!x)
    return nullptr;
  // The side that is not taken computes with 1, and gets no gradient.
  Tensor one = emit.scalar(1, elementOf(x)), isLarge = emit.compare(graph::Predicate::gt, x, one);
  Tensor large = emit.unary<graph::LogOp>(emit.add(emit.select(isLarge, x, one), one));
  return emit.select(isLarge, large, logOnePlus(emit, emit.select(isLarge, one, x)));
}

Tensor dtcc::onnx::softplus(Emitter &emit, const Tensor &x) {
  if (!x)
    return nullptr;
  // max(x, 0) + log(1 + exp(-|x|)), with the slopes of one side at 0, which add up to 1/2.
  Tensor zero = emit.scalar(0, elementOf(x)), isAbove = emit.compare(graph::Predicate::gt, x, zero);
  Tensor below = emit.select(isAbove, emit.unary<graph::NegOp>(x), x);
  return emit.add(emit.select(isAbove, x, zero), logOnePlus(emit, emit.unary<graph::ExpOp>(below)));
}
