//===- DataParts.cpp - Parts whose sizes only the data tell
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/DataParts.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Reductions.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

Tensor dtcc::onnx::asPart(const Tensor &x, std::shared_ptr<const DataPart> part) {
  auto data = std::make_shared<TensorData>(*x);
  data->part = std::move(part);
  return data;
}

std::vector<Tensor> dtcc::onnx::splitByData(Emitter &emit, const Tensor &x, const Tensor &sizes, int64_t dim) {
  Tensor ends = cumsum(emit, sizes, 0, /*exclusive=*/false, /*reverse=*/false);
  if (!ends)
    return {};
  auto whole = std::make_shared<DataCut>(DataCut{dim, {}});
  for (int64_t i = 0; i < shapeOf(sizes)[0]; ++i)
    whole->ends.push_back(emit.reshape(cut(emit, ends, 0, i, 1), {}));
  std::vector<Tensor> parts;
  for (size_t i = 0; i < whole->ends.size(); ++i)
    parts.push_back(asPart(x, std::make_shared<DataPart>(DataPart{whole, i})));
  return parts;
}

Tensor dtcc::onnx::joinParts(Emitter &emit, ArrayRef<Tensor> xs) {
  const DataCut &whole = *xs.front()->part->cut;
  Tensor joined = asPart(xs.back(), nullptr);
  SmallVector<int64_t> shape(rankOf(joined), 1), steps(rankOf(joined), 0);
  shape[whole.dim] = shapeOf(joined)[whole.dim];
  steps[whole.dim] = 1;
  auto type = RankedTensorType::get(shape, emit.getBuilder().getI64Type());
  for (size_t i = xs.size() - 1; joined && i-- > 0;) {
    Tensor end = emit.cast(whole.ends[i], type.getElementType());
    Tensor before = emit.compare(graph::Predicate::lt, emit.affine(type, {0, steps}), end);
    joined = emit.select(before, xs[i], joined);
  }
  return joined;
}
