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

Tensor dtcc::onnx::reversed(Emitter &emit, const Tensor &x, int64_t dim) {
  // A slice a cell: programs have views that go forwards alone.
  constexpr int64_t kMostCells = 4096;
  if (!x || shapeOf(x)[dim] < 2)
    return x;
  if (shapeOf(x)[dim] > kMostCells)
    return emit.error("can turn dimensions of at most " + Twine(kMostCells) + " cells, got: " + Twine(shapeOf(x)[dim]));
  SmallVector<Tensor> cells;
  for (int64_t i = shapeOf(x)[dim] - 1; i >= 0; --i)
    cells.push_back(cut(emit, x, dim, i, 1));
  return emit.concat(cells, dim);
}

Tensor dtcc::onnx::pad(Emitter &emit, const Tensor &x, ArrayRef<int64_t> low, ArrayRef<int64_t> high, double value) {
  if (!x)
    return nullptr;
  SmallVector<int64_t> shape;
  for (auto [size, before, after] : llvm::zip_equal(shapeOf(x), low, high))
    shape.push_back(size + before + after);
  RankedTensorType type = typeLike(x, shape);
  if (!fits(emit.getLoc(), type))
    return nullptr;
  if (shapeOf(x) == ArrayRef(shape))
    return x;
  if (cellsOf(shapeOf(x)) == 0)
    return emit.splat(type, value);
  return emit.finish(
      graph::PadOp::create(emit.getBuilder(), emit.getLoc(), type, emit.value(x), low, high, APFloat(value)), {x});
}
