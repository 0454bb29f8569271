//===- Indexing.h - Gathers and picks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most indices of an exported model are positions that somebody wrote as numbers. What
// they read is then a slice or a transpose, which have gradients and can be split;
// gathers remain where only the data tell.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_INDEXING_H
#define DTCC_FRONTENDS_ONNX_EMIT_INDEXING_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// y[a.., i.., c..] = x[a.., indices[i..], c..]; indices count from 0.
Tensor gather(Emitter &emit, const Tensor &x, const Tensor &indices, int64_t axis);
/// y[i.., c..] = x[coordinates[0][i..], coordinates[1][i..], .., c..].
Tensor gatherPoints(Emitter &emit, const Tensor &x, llvm::ArrayRef<Tensor> coordinates);
/// Flags whose new dimension `dim` has `size` cells: whether a cell's place there is the index.
Tensor oneHot(Emitter &emit, const Tensor &indices, int64_t size, int64_t dim);
/// y[.., k, ..] = x[.., indices[.., k, ..], ..]: the cells that indices, which only the data tell, pick along `axis`.
Tensor pick(Emitter &emit, const Tensor &x, const Tensor &indices, int64_t axis);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_INDEXING_H
