//===- PointPlaces.cpp - Where coordinates lie in a tensor
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/PointPlaces.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

int64_t dtcc::onnx::wholeWalk(const Tensor &coordinate, int64_t size) {
  std::optional<Affine> at = knownAffine(coordinate);
  if (!at || at->offset != 0)
    return -1;
  int64_t found = -1;
  for (auto [dim, step] : llvm::enumerate(at->steps)) {
    if (step == 0)
      continue;
    if (step != 1 || found >= 0 || shapeOf(coordinate)[dim] != size)
      return -1;
    found = dim;
  }
  return found;
}

Tensor dtcc::onnx::flatPlace(Emitter &emit, const Tensor &x, ArrayRef<Tensor> coordinates) {
  Tensor place = coordinates[0];
  for (size_t i = 1; i < coordinates.size(); ++i)
    place = emit.add(emit.mul(place, emit.scalar(double(shapeOf(x)[i]), elementOf(place))), coordinates[i]);
  return place;
}
