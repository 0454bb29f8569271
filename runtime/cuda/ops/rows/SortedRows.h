//===- SortedRows.h - Row numbers sorted by their ids, on the GPU
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_OPS_ROWS_SORTEDROWS_H
#define DTCC_RUNTIME_CUDA_OPS_ROWS_SORTEDROWS_H

#include "runtime/cuda/kernels/rows/Sort.h"
#include "runtime/cuda/ops/Launch.h"
#include "runtime/kernels/ops/CheckedOperands.h"

namespace dtcc::rt::cuda {

/// Sorts `rows` ids that are below `keys` (see kernels/rows/Sort.h) into memory of the workspace.
class SortedRows {
public:
  /// Takes its memory of `layout`. Rejects more rows than an i32 counts.
  SortedRows(const CheckedOperands &operands, int64_t rows, int64_t keys, Launcher &launcher, WorkspaceLayout &layout);

  /// Launches the sort; the result is in order(call) until the end of the call.
  void sort(const Call &call, const Integers &ids, int64_t offset, int64_t paddingId) const;
  const int32_t *order(const Call &call) const { return at<int32_t>(call, places[passes % 2]); }

private:
  int64_t rows, keys, tiles;
  int passes = 0;
  uint64_t places[2], counts; // in the workspace
  Kernel count, offsets, scatter;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_OPS_ROWS_SORTEDROWS_H
