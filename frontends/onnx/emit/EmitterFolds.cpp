//===- EmitterFolds.cpp - Running sums, and folds by pairs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and sums of integers, for which the graph dialect has no reduction, are combined
// pair by pair. n cells take about log2(n) elementwise ops over slices, which have
// gradients. Hillis and Steele, "Data parallel algorithms", 1986.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Emitter.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

Tensor Emitter::fold(const Tensor &x, int64_t dim, Combine combine) {
  Tensor y = x, odd;
  while (y && shapeOf(y)[dim] > 1) {
    int64_t size = shapeOf(y)[dim], half = size / 2;
    if (size % 2) {
      Tensor last = cut(y, dim, size - 1, 1);
      odd = odd ? combine(last, odd) : last;
    }
    y = combine(cut(y, dim, 0, half), cut(y, dim, half, half));
  }
  return y && odd ? combine(y, odd) : y;
}

Tensor Emitter::product(const Tensor &x, ArrayRef<int64_t> dims, bool keep) {
  Tensor y = x;
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted, std::greater<>());
  for (int64_t dim : sorted) {
    y = fold(y, dim, [&](const Tensor &a, const Tensor &b) { return mul(a, b); });
    y = keep ? y : squeeze(y, dim);
  }
  return y;
}

Tensor Emitter::runningFold(const Tensor &x, int64_t dim, bool exclusive, bool reverse, double neutral,
                            Combine combine) {
  if (!x)
    return nullptr;
  int64_t size = shapeOf(x)[dim];
  // Cell i becomes what was `steps` before it, or behind it.
  auto shifted = [&](const Tensor &y, int64_t steps) {
    SmallVector<int64_t> low(rankOf(y), 0), high(rankOf(y), 0);
    (reverse ? high : low)[dim] = steps;
    return pad(cut(y, dim, reverse ? steps : 0, size - steps), low, high, neutral);
  };
  Tensor y = exclusive && size > 0 ? shifted(x, 1) : x;
  for (int64_t steps = 1; y && steps < size; steps *= 2)
    y = combine(y, shifted(y, steps));
  return y;
}

Tensor Emitter::cumprod(const Tensor &x, int64_t dim, bool exclusive, bool reverse) {
  return runningFold(x, dim, exclusive, reverse, 1, [&](const Tensor &a, const Tensor &b) { return mul(a, b); });
}

Tensor Emitter::cumsum(const Tensor &x, int64_t dim, bool exclusive, bool reverse) {
  if (!x)
    return nullptr;
  int64_t rank = rankOf(x), size = shapeOf(x)[dim];
  if (!isFloat(x))
    if (std::optional<double> cell = knownSplat(x)) {
      auto each = int64_t(*cell);
      Affine result{(reverse ? size : 1) * each - (exclusive ? each : 0), SmallVector<int64_t>(rank, 0)};
      result.steps[dim] = reverse ? -each : each;
      return affine(x->type, result);
    }
  // Kernels sum floats, and a count of cells is exact in f32.
  if (isFlag(x) && size <= kMostExactCount)
    return cast(cumsum(cast(x, builder.getF32Type()), dim, exclusive, reverse), elementOf(x));
  if (!isFloat(x))
    return runningFold(x, dim, exclusive, reverse, 0, [&](const Tensor &a, const Tensor &b) { return add(a, b); });
  // y[.., i, ..] is the sum of x[.., k, ..] over the k up to i. It is computed by a select and a sum, which fuse, can
  // be sharded and have gradients.
  SmallVector<int64_t> shape(shapeOf(x)), turn = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(turn[dim], turn[rank - 1]);
  Tensor turned = transpose(x, turn);
  shape.assign(shapeOf(turned).begin(), shapeOf(turned).end());
  shape.insert(shape.end() - 1, size);
  auto places = RankedTensorType::get({size, size}, builder.getI64Type());
  graph::Predicate predicate = reverse ? (exclusive ? graph::Predicate::gt : graph::Predicate::ge)
                                       : (exclusive ? graph::Predicate::lt : graph::Predicate::le);
  Tensor counted = compare(predicate, affine(places, {0, {0, 1}}), affine(places, {0, {1, 0}}));
  Tensor terms = select(counted, broadcastTo(unsqueeze(turned, rank - 1), shape), scalar(0, elementOf(x)));
  return transpose(reduce(Reduction::Sum, terms, {rank}, /*keep=*/false), turn);
}
