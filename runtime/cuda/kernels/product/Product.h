//===- Product.h - Parameters of the kernel of matrix products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_PRODUCT_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_PRODUCT_H

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

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_PRODUCT_H
