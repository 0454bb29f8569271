//===- Reductions.cpp - Reductions and running sums
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Reductions.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Folds.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// The neutral element of a reduction, which is its result where there are no cells.
static Tensor neutral(Emitter &emit, Reduction kind, RankedTensorType type) {
  Type element = type.getElementType();
  if (kind == Reduction::Sum)
    return emit.splat(type, 0);
  if (isa<FloatType>(element))
    return emit.splat(type, kind == Reduction::Max ? -INFINITY : INFINITY);
  unsigned bits = element.getIntOrFloatBitWidth();
  int64_t least = bits == 1 ? 0 : llvm::minIntN(bits), most = bits == 1 ? 1 : llvm::maxIntN(bits);
  return emit.affine(type, {kind == Reduction::Max ? least : most, SmallVector<int64_t>(type.getRank(), 0)});
}

Tensor dtcc::onnx::reduce(Emitter &emit, Reduction kind, const Tensor &x, ArrayRef<int64_t> dims, bool keep) {
  if (!x || dims.empty())
    return x;
  SmallVector<int64_t> sorted(dims), shape, kept;
  llvm::sort(sorted);
  for (int64_t dim = 0; dim < rankOf(x); ++dim) {
    bool reduced = llvm::is_contained(sorted, dim);
    if (!reduced)
      shape.push_back(shapeOf(x)[dim]);
    if (!reduced || keep)
      kept.push_back(reduced ? 1 : shapeOf(x)[dim]);
  }
  if (cellsOf(shapeOf(x)) == 0)
    return emit.reshape(neutral(emit, kind, typeLike(x, shape)), kept);
  // Kernels reduce floats. A count of cells, and the maximum or minimum of flags, are exact in f32.
  if ((isFlag(x) && cellsOf(shapeOf(x)) <= kMostExactCount) || elementOf(x).isInteger(1))
    return emit.cast(reduce(emit, kind, emit.cast(x, emit.getBuilder().getF32Type()), dims, keep), elementOf(x));
  if (std::shared_ptr<const HostTensor> cells = isFloat(x) || x->constant ? nullptr : knownCells(x))
    return reduce(emit, kind, emit.constant(*cells), dims, keep);
  // Integers whose values are not known are reduced by pairs.
  if (!isFloat(x) && !x->constant) {
    Tensor y = x;
    for (int64_t dim : sorted)
      y = fold(emit, y, dim, [&](const Tensor &a, const Tensor &b) {
        return kind == Reduction::Sum   ? emit.add(a, b)
               : kind == Reduction::Max ? emit.binary<graph::MaxOp>(a, b)
                                        : emit.binary<graph::MinOp>(a, b);
      });
    return emit.reshape(y, kept);
  }
  Tensor reduced = emit.finish(
      graph::ReduceOp::create(emit.getBuilder(), emit.getLoc(), typeLike(x, shape), kind, emit.value(x), sorted), {x});
  return emit.reshape(reduced, kept);
}

Tensor dtcc::onnx::mean(Emitter &emit, const Tensor &x, ArrayRef<int64_t> dims, bool keep) {
  if (!x || dims.empty())
    return x;
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= shapeOf(x)[dim];
  Tensor sum = reduce(emit, Reduction::Sum, x, dims, keep);
  Tensor cells = emit.scalar(double(count), elementOf(x));
  // A mean of everything may become the loss: its sum and count stay apart.
  if (sum && cellsOf(shapeOf(sum)) == 1 && !sum->constant) {
    auto data = std::make_shared<TensorData>();
    data->type = sum->type;
    data->sum = emit.reshape(sum, {});
    data->count = cells;
    data->value = emit.value(emit.div(sum, cells));
    return data;
  }
  return emit.div(sum, cells);
}

Tensor dtcc::onnx::softmax(Emitter &emit, const Tensor &x, ArrayRef<int64_t> dims, bool log) {
  if (!x)
    return nullptr;
  return emit.finish(graph::SoftmaxOp::create(emit.getBuilder(), emit.getLoc(), emit.value(x), dims, log), {x});
}

Tensor dtcc::onnx::cumprod(Emitter &emit, const Tensor &x, int64_t dim, bool exclusive, bool reverse) {
  return runningFold(emit, x, dim, exclusive, reverse, 1,
                     [&](const Tensor &a, const Tensor &b) { return emit.mul(a, b); });
}

Tensor dtcc::onnx::cumsum(Emitter &emit, const Tensor &x, int64_t dim, bool exclusive, bool reverse) {
  if (!x)
    return nullptr;
  int64_t rank = rankOf(x), size = shapeOf(x)[dim];
  if (!isFloat(x))
    if (std::optional<double> cell = knownSplat(x)) {
      auto each = int64_t(*cell);
      Affine result{(reverse ? size : 1) * each - (exclusive ? each : 0), SmallVector<int64_t>(rank, 0)};
      result.steps[dim] = reverse ? -each : each;
      return emit.affine(x->type, result);
    }
  // Kernels sum floats, and a count of cells is exact in f32.
  if (isFlag(x) && size <= kMostExactCount)
    return emit.cast(cumsum(emit, emit.cast(x, emit.getBuilder().getF32Type()), dim, exclusive, reverse), elementOf(x));
  if (!isFloat(x))
    return runningFold(emit, x, dim, exclusive, reverse, 0,
                       [&](const Tensor &a, const Tensor &b) { return emit.add(a, b); });
  // y[.., i, ..] is the sum of x[.., k, ..] over the k up to i. It is computed by a select and a sum, which fuse, can
  // be sharded and have gradients.
  SmallVector<int64_t> shape(shapeOf(x)), turn = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(turn[dim], turn[rank - 1]);
  Tensor turned = emit.transpose(x, turn);
  shape.assign(shapeOf(turned).begin(), shapeOf(turned).end());
  shape.insert(shape.end() - 1, size);
  auto places = RankedTensorType::get({size, size}, emit.getBuilder().getI64Type());
  graph::Predicate predicate = reverse ? (exclusive ? graph::Predicate::gt : graph::Predicate::ge)
                                       : (exclusive ? graph::Predicate::lt : graph::Predicate::le);
  Tensor counted = emit.compare(predicate, emit.affine(places, {0, {0, 1}}), emit.affine(places, {0, {1, 0}}));
  Tensor terms =
      emit.select(counted, emit.broadcastTo(unsqueeze(emit, turned, rank - 1), shape), emit.scalar(0, elementOf(x)));
  return emit.transpose(reduce(emit, Reduction::Sum, terms, {rank}, /*keep=*/false), turn);
}
