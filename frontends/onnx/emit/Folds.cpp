//===- Folds.cpp - Cells combined pair by pair
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Folds.h"
#include "frontends/onnx/emit/Dimensions.h"
#include <functional>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

Tensor dtcc::onnx::fold(Emitter &emit, const Tensor &x, int64_t dim, Combine combine) {
  Tensor y = x, odd;
  while (y && shapeOf(y)[dim] > 1) {
    int64_t size = shapeOf(y)[dim], half = size / 2;
    if (size % 2) {
      Tensor last = cut(emit, y, dim, size - 1, 1);
      odd = odd ? combine(last, odd) : last;
    }
    y = combine(cut(emit, y, dim, 0, half), cut(emit, y, dim, half, half));
  }
  return y && odd ? combine(y, odd) : y;
}

Tensor dtcc::onnx::product(Emitter &emit, const Tensor &x, ArrayRef<int64_t> dims, bool keep) {
  Tensor y = x;
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted, std::greater<>());
  for (int64_t dim : sorted) {
    if (y && shapeOf(y)[dim] == 0) {
      SmallVector<int64_t> one(shapeOf(y));
      one[dim] = 1;
      y = emit.splat(typeLike(y, one), 1);
    }
    y = fold(emit, y, dim, [&](const Tensor &a, const Tensor &b) { return emit.mul(a, b); });
    y = keep ? y : squeeze(emit, y, dim);
  }
  return y;
}

Tensor dtcc::onnx::runningFold(Emitter &emit, const Tensor &x, int64_t dim, bool exclusive, bool reverse,
                               double neutral, Combine combine) {
  if (!x)
    return nullptr;
  int64_t size = shapeOf(x)[dim];
  // Cell i becomes what was `steps` before it, or behind it.
  auto shifted = [&](const Tensor &y, int64_t steps) {
    SmallVector<int64_t> low(rankOf(y), 0), high(rankOf(y), 0);
    (reverse ? high : low)[dim] = steps;
    return pad(emit, cut(emit, y, dim, reverse ? steps : 0, size - steps), low, high, neutral);
  };
  Tensor y = exclusive && size > 0 ? shifted(x, 1) : x;
  for (int64_t steps = 1; y && steps < size; steps *= 2)
    y = combine(y, shifted(y, steps));
  return y;
}
