//===- Logic.cpp - And, or, not
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Logic.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// `and` with true and `or` with false are their other operand; with the opposite they are known.
template <typename OpTy> static Tensor connective(Emitter &emitter, const Tensor &x, const Tensor &y, bool neutral) {
  Tensor a = x, b = y;
  if (!broadcastTogether(emitter, {&a, &b}))
    return nullptr;
  if (elementOf(a).isInteger(1))
    for (auto [known, other] : {std::pair(a, b), std::pair(b, a)})
      if (std::optional<double> cell = knownSplat(known))
        return (*cell != 0) == neutral ? other : known;
  return emitter.binary<OpTy>(a, b);
}

Tensor dtcc::onnx::logicalAnd(Emitter &emit, const Tensor &x, const Tensor &y) {
  return connective<graph::AndOp>(emit, x, y, true);
}
Tensor dtcc::onnx::logicalOr(Emitter &emit, const Tensor &x, const Tensor &y) {
  return connective<graph::OrOp>(emit, x, y, false);
}

Tensor dtcc::onnx::logicalNot(Emitter &emit, const Tensor &x) {
  if (!x)
    return nullptr;
  if (std::optional<double> cell = knownSplat(x))
    return emit.splat(x->type, elementOf(x).isInteger(1) ? *cell == 0 : double(~static_cast<int64_t>(*cell)));
  return emit.unary<graph::NotOp>(x);
}
