//===- RowOrder.h - Parameters of the kernels that pick and order rows
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_ROWS_ROWORDER_H
#define DTCC_RUNTIME_CUDA_KERNELS_ROWS_ROWORDER_H

#include <cstdint>

namespace dtcc::rt::cuda {

constexpr int rowThreads = 128;

/// top_k: a warp a row. Strides in elements, of rows and columns.
struct TopK {
  const float *x;
  float *values;
  int64_t *indices;
  int64_t rows, columns, picked;
  int64_t xStrides[2], valueStrides[2], indexStrides[2];
};

/// reorder_N: a block a row of `units` units of N bytes. See SequenceOrder.h for `ordered` rows in `chunks`.
struct Reorder {
  const void *x;
  void *out;
  int64_t outer, rowsIn, rowsOut, units;
  int64_t first; // the row, or inverse the position, of row 0 of out
  int64_t ordered, chunks;
  int32_t inverse;
  uint32_t filler[4]; // a unit of a row that pads
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_ROWS_ROWORDER_H
