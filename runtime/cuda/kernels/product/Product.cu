//===- Product.cu - Matrix products of any strides
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products that cublasLt does not support, or all of them if it is missing: correct for every view, and far from
// what tensor cores give.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/product/TiledProduct.h"

using namespace dtcc::rt::cuda;

DTCC_KERNEL(product, Product, productThreads) {
  for (int64_t g = blockZ(); g < p.g; g += blocksZ()) {
    productSquare(
        blockX(), p.m, p.n, p.k, p.lhsStrides[2] == 1, p.rhsStrides[1] == 1,
        [&](int64_t i, int64_t x) {
          return cellAt(p.lhs, p.type, g * p.lhsStrides[0] + i * p.lhsStrides[1] + x * p.lhsStrides[2]);
        },
        [&](int64_t x, int64_t j) {
          return cellAt(p.rhs, p.type, g * p.rhsStrides[0] + x * p.rhsStrides[1] + j * p.rhsStrides[2]);
        },
        [&](int64_t i, int64_t j, float sum) {
          const int64_t cell = g * p.outStrides[0] + i * p.outStrides[1] + j * p.outStrides[2];
          if (p.bias)
            sum += p.bias[j * p.biasStride];
          if (p.accumulate)
            sum += cellAt(p.out, p.outType, cell);
          storeCell(p.out, p.outType, cell, sum);
        });
  }
}
