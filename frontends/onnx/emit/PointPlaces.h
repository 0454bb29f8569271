//===- PointPlaces.h - Where coordinates lie in a tensor
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gathers and scatters of points name each cell by one coordinate per dimension. These
// functions say whether a coordinate walks a whole dimension, and number the points.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_POINTPLACES_H
#define DTCC_FRONTENDS_ONNX_EMIT_POINTPLACES_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// The dimension along which a coordinate walks all `size` cells in order, or -1.
int64_t wholeWalk(const Tensor &coordinate, int64_t size);

/// The row-major place of coordinates in the first dimensions of `x`.
Tensor flatPlace(Emitter &emitter, const Tensor &x, llvm::ArrayRef<Tensor> coordinates);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_POINTPLACES_H
