//===- Folds.h - Cells combined pair by pair
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

#ifndef DTCC_FRONTENDS_ONNX_EMIT_FOLDS_H
#define DTCC_FRONTENDS_ONNX_EMIT_FOLDS_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// Makes one cell of two; associative.
using Combine = llvm::function_ref<Tensor(const Tensor &, const Tensor &)>;

/// All cells along `dim`, of which there is at least one, combined pair by pair; the dimension stays with size 1. For
/// what no reduction computes.
Tensor fold(Emitter &emit, const Tensor &x, int64_t dim, Combine combine);
/// Products over `dims`, which vanish, or stay with size 1.
Tensor product(Emitter &emit, const Tensor &x, llvm::ArrayRef<int64_t> dims, bool keep);
/// Each cell combined with those before it along `dim`, from the end if `reverse`, without the cell itself if
/// `exclusive`. `neutral` changes nothing when it is combined.
Tensor runningFold(Emitter &emit, const Tensor &x, int64_t dim, bool exclusive, bool reverse, double neutral,
                   Combine combine);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_FOLDS_H
