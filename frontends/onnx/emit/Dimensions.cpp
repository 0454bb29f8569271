//===- Dimensions.cpp - One dimension of a tensor
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Dimensions.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

Tensor dtcc::onnx::cut(Emitter &emit, const Tensor &x, int64_t dim, int64_t first, int64_t count) {
  if (!x)
    return nullptr;
  SmallVector<int64_t> offsets(rankOf(x), 0), sizes(shapeOf(x)), steps(rankOf(x), 1);
  offsets[dim] = first, sizes[dim] = count;
  return emit.slice(x, offsets, sizes, steps);
}

Tensor dtcc::onnx::squeeze(Emitter &emit, const Tensor &x, int64_t dim) {
  if (!x)
    return nullptr;
  SmallVector<int64_t> shape(shapeOf(x));
  shape.erase(shape.begin() + dim);
  return emit.reshape(x, shape);
}

Tensor dtcc::onnx::unsqueeze(Emitter &emit, const Tensor &x, int64_t dim) {
  if (!x)
    return nullptr;
  SmallVector<int64_t> shape(shapeOf(x));
  shape.insert(shape.begin() + dim, 1);
  return emit.reshape(x, shape);
}
