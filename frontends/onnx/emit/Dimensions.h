//===- Dimensions.h - One dimension of a tensor
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cells, sizes of 1, padding, and other short forms of slices, reshapes and concatenations.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_DIMENSIONS_H
#define DTCC_FRONTENDS_ONNX_EMIT_DIMENSIONS_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// `count` cells of dimension `dim`, from `first` on.
Tensor cut(Emitter &emit, const Tensor &x, int64_t dim, int64_t first, int64_t count);
/// Drops dimension `dim` of size 1; adds one at `dim`.
Tensor squeeze(Emitter &emit, const Tensor &x, int64_t dim);
Tensor unsqueeze(Emitter &emit, const Tensor &x, int64_t dim);
/// Dimension `dim` from its end to its start.
Tensor reversed(Emitter &emit, const Tensor &x, int64_t dim);
/// `low` and `high` cells of `value` before and behind the cells of each dimension.
Tensor pad(Emitter &emit, const Tensor &x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high, double value);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_DIMENSIONS_H
