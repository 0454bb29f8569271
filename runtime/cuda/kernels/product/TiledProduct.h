//===- TiledProduct.h - A square of a matrix product
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All products of this folder are this one, with functions that say where cells come from
// and go to: plain matrices, rows that picked a matrix, windows of an image. Sums are
// taken in f32 in ascending order of k: a result does not depend on the grid.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_TILEDPRODUCT_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_TILEDPRODUCT_H

#include "runtime/cuda/kernels/Cells.h"
#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/product/Product.h"

namespace dtcc::rt::cuda {

/// Square number `tile` of the product of lhs(i, x) and rhs(x, j), i < m, x < k, j < n: calls store(i, j, sum) for its
/// cells. `lhsAlongK`, `rhsAlongK`: neighbours in memory are neighbours along k. All productThreads threads call.
template <typename Lhs, typename Rhs, typename Store>
DTCC_DEVICE void productSquare(int64_t tile, int64_t m, int64_t n, int64_t k, bool lhsAlongK, bool rhsAlongK, Lhs lhs,
                               Rhs rhs, Store store) {
  constexpr int stride = productTile + 4; // 16-byte reads from other banks
  DTCC_SHARED float left[productDepth * stride] __attribute__((aligned(16)));
  DTCC_SHARED float right[productDepth * stride] __attribute__((aligned(16)));
  const int64_t columns = (n + productTile - 1) / productTile;
  const int64_t row = tile / columns * productTile, column = tile % columns * productTile;
  const int thread = threadIndex(), x = thread % 16 * 4, y = thread / 16 * 4;
  float sums[4][4] = {};
  for (int64_t first = 0; first < k; first += productDepth) {
    synchronize();
#pragma unroll
    for (int i = thread; i < productTile * productDepth; i += productThreads) {
      int at = lhsAlongK ? i / productDepth : i % productTile, depth = lhsAlongK ? i % productDepth : i / productTile;
      left[depth * stride + at] = row + at < m && first + depth < k ? lhs(row + at, first + depth) : 0.0f;
    }
#pragma unroll
    for (int i = thread; i < productTile * productDepth; i += productThreads) {
      int at = rhsAlongK ? i / productDepth : i % productTile, depth = rhsAlongK ? i % productDepth : i / productTile;
      right[depth * stride + at] = column + at < n && first + depth < k ? rhs(first + depth, column + at) : 0.0f;
    }
    synchronize();
#pragma unroll
    for (int depth = 0; depth < productDepth; ++depth)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sums[i][j] = __builtin_fmaf(left[depth * stride + y + i], right[depth * stride + x + j], sums[i][j]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (row + y + i < m && column + x + j < n)
        store(row + y + i, column + x + j, sums[i][j]);
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_TILEDPRODUCT_H
