//===- Reductions.h - Reductions and running sums
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floats are reduced by ops of the graph dialect, and so are flags, whose counts are exact in
// f32; other integers are folded (Folds.h).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_REDUCTIONS_H
#define DTCC_FRONTENDS_ONNX_EMIT_REDUCTIONS_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// `dims` in any order; they vanish, or stay with size 1.
Tensor reduce(Emitter &emit, Reduction kind, const Tensor &x, llvm::ArrayRef<int64_t> dims, bool keep);
Tensor mean(Emitter &emit, const Tensor &x, llvm::ArrayRef<int64_t> dims, bool keep);
Tensor softmax(Emitter &emit, const Tensor &x, llvm::ArrayRef<int64_t> dims, bool log);
/// Running sums along `dim`, from the end if `reverse`, without the cell itself if `exclusive`.
Tensor cumsum(Emitter &emit, const Tensor &x, int64_t dim, bool exclusive, bool reverse);
/// Running products, likewise.
Tensor cumprod(Emitter &emit, const Tensor &x, int64_t dim, bool exclusive, bool reverse);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_REDUCTIONS_H
