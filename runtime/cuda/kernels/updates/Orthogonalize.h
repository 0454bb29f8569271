//===- Orthogonalize.h - Parameters of the kernels of Muon's matrices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// These kernels stand between the products of runtime/kernels/Orthogonalization.h. A matrix is f32 and
// whole; X, of the products, is bf16, and the matrix or its transpose.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_UPDATES_ORTHOGONALIZE_H
#define DTCC_RUNTIME_CUDA_KERNELS_UPDATES_ORTHOGONALIZE_H

#include <cstdint>

namespace dtcc::rt::cuda {

constexpr int orthogonalizeThreads = 256;
/// Blocks that add up squares, whose sums are added in order.
constexpr int64_t orthogonalizeBlocks = 512;

/// A rank's block of a whole matrix, of which heads and the like may be dimensions of their own.
struct MatrixBlock {
  static constexpr int mostDims = 16;
  int32_t rank;
  int64_t cells, first; // first: of the block's cells in the whole matrix
  int64_t sizes[mostDims], wholeStrides[mostDims], localStrides[mostDims];
};

/// matrix_gather: a thread a cell of the block.
struct MatrixGather {
  MatrixBlock block;
  const float *from;
  float *matrix;
};

/// matrix_scatter: a thread a cell of the block. Cells of the block that lie outside a share are left out.
struct MatrixScatter {
  MatrixBlock block;
  const float *matrix;
  float *share;
  int64_t begin, size; // of the block in the share, where a cell before it is negative; of the share
};

/// matrix_squares: orthogonalizeBlocks blocks. matrix_norm: one block. matrix_normalize: a thread a cell of X.
struct MatrixNormalize {
  const float *matrix;
  int64_t rows, columns;
  double *partial; // one a block
  float *norm;
  void *x; // bf16
  float eps;
};

/// matrix_combine: a thread a cell. to = a * from + b * sums, rounded once; `from` is not read where a is 0.
struct MatrixCombine {
  int64_t cells;
  const float *sums;
  const void *from; // bf16
  void *to;         // bf16
  float a, b;
};

/// matrix_scale: a thread a cell of X.
struct MatrixScale {
  const void *x; // bf16
  float *matrix;
  int64_t rows, columns;
  float scale;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_UPDATES_ORTHOGONALIZE_H
