//===- Transpose.h - Parameters of the kernels of transposing copies
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_TRANSPOSE_H
#define DTCC_RUNTIME_CUDA_KERNELS_TRANSPOSE_H

#include "runtime/cuda/kernels/Copy.h"

namespace dtcc::rt::cuda {

constexpr int transposeThreads = 256;
/// Rows and columns of the tiles that a plane is cut into.
constexpr int transposeTile = 64;

/// transpose_N: cells of N bytes, in planes. Neighbours along a plane's columns are adjacent in `from`, along its rows
/// in `to`. transpose_pairs: cells of 2 bytes, two at a time, where all sizes and strides are even and addresses are
/// multiples of 4. Strides are in cells; dimensions of planes stand outermost first.
struct Transposition {
  const void *from;
  void *to;
  int64_t rows, columns;
  int64_t fromStride, toStride; // between rows in `from`, between columns in `to`
  int64_t planes, sizes[copyMaxRank], fromStrides[copyMaxRank], toStrides[copyMaxRank];
  int32_t rank; // of `sizes`
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_TRANSPOSE_H
