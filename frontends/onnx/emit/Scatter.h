//===- Scatter.h - Cells that are written
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A box of cells whose place is known is joined to what lies around it. Where only the
// data tell which cells are written, sums of floats go to their rows by graph.scatter_add.
// Every other update is compared with every place: the results are selections and
// reductions, which have gradients and are the same under every plan. They cost the
// product of both numbers.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_SCATTER_H
#define DTCC_FRONTENDS_ONNX_EMIT_SCATTER_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// How a written cell is combined with the cell that was there.
enum class ScatterKind { replace, add, mul, max, min };

/// x with updates[i.., c..] written to x[coordinates[0][i..], coordinates[1][i..], .., c..], one after the other: of
/// several updates to a cell the last stays, or all are combined with it. A box of cells at a known place is joined
/// to what lies around it. Elsewhere every point is compared with every row: at most kMostPairs.
Tensor scatterPoints(Emitter &emit, const Tensor &x, llvm::ArrayRef<Tensor> coordinates, const Tensor &updates,
                     ScatterKind kind);
/// x with updates[.., k, ..] written to cell indices[.., k, ..] of `axis`, as scatterPoints writes: the inverse of
/// pick.
Tensor place(Emitter &emit, const Tensor &x, const Tensor &indices, const Tensor &updates, int64_t axis,
             ScatterKind kind);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_SCATTER_H
