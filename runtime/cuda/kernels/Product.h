//===- Product.h - Parameters of the kernel of matrix products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_H

#include <cstdint>

namespace dtcc::rt::cuda {

/// A block computes a square of this size; its threads 4 x 4 cells each.
constexpr int productTile = 64, productDepth = 16, productThreads = 256;
constexpr int64_t productTiles(int64_t rows, int64_t columns) {
  return (rows + productTile - 1) / productTile * ((columns + productTile - 1) / productTile);
}

/// product: out[g, m, n] = (accumulate ? out : 0) + lhs[g, m, k] * rhs[g, k, n] + bias[n]. Any strides, in elements.
/// Grid: tiles, 1, g.
struct Product {
  int64_t g, m, n, k;
  const void *lhs, *rhs;
  const float *bias; // or null
  void *out;
  int64_t lhsStrides[3], rhsStrides[3], outStrides[3], biasStride;
  int32_t type, outType; // dtcc_dtype
  int32_t accumulate;
};

/// product_epilogue: cells of a product become what matmul_epilogue stores (LibraryOps.def), where no library does it
/// in passing; g is 1 unless all that follows is a bias. A thread a cell.
struct ProductEpilogue {
  int64_t g, m, n;
  void *out, *kept;                                        // kept: or null
  const void *bias, *at;                                   // or null
  int64_t outStrides[3], biasStride, keptStride, atStride; // of rows
  int32_t type, biasType;                                  // dtcc_dtype
  int64_t activation;                                      // ProductActivation
};
constexpr int epilogueThreads = 256;

/// product_sums: sums[n] = (accumulate ? sums : 0) + sum of rows[k, n] over k, in f64. A block for 32 columns.
struct ProductSums {
  int64_t k, n;
  const void *rows;
  int64_t strides[2], sumsStride;
  void *sums;
  int32_t type, sumsType; // dtcc_dtype
  int32_t accumulate;
};
constexpr int sumsColumns = 32, sumsThreads = 256;

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_H
