//===- Product.cu - Matrix products of any strides
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What cublasLt does not take, or where it is missing: correct for every view, and far from
// what tensor cores give.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/ProductEpilogue.h"
#include "runtime/cuda/kernels/TiledProduct.h"

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

/// tanh(sqrt(2 / pi) (x + 0.044715 x^3))
static DTCC_DEVICE float geluTangent(float x) {
  return hyperbolicTangent(0.797884561f * __builtin_fmaf(0.044715f * x * x, x, x));
}

DTCC_KERNEL(product_epilogue, ProductEpilogue, epilogueThreads) {
  const int64_t cell = blockX() * epilogueThreads + threadIndex(), row = cell / p.n, j = cell % p.n;
  if (row >= p.g * p.m)
    return;
  const int64_t g = row / p.m, i = row % p.m;
  const int64_t at = g * p.outStrides[0] + i * p.outStrides[1] + j * p.outStrides[2];
  float x = cellAt(p.out, p.type, at);
  if (p.bias)
    x += cellAt(p.bias, p.biasType, j * p.biasStride);
  if (p.kept)
    storeCell(p.kept, p.type, i * p.keptStride + j, x);
  if (p.activation == static_cast<int64_t>(dtcc::ProductActivation::Slope)) {
    const float y = cellAt(p.at, p.type, i * p.atStride + j), t = geluTangent(y);
    x *= 0.5f * (1 + t) + 0.5f * y * (1 - t * t) * 0.797884561f * (1 + 0.134145f * y * y);
  } else if (p.activation != static_cast<int64_t>(dtcc::ProductActivation::None)) {
    x *= 0.5f * (1 + geluTangent(x));
  }
  storeCell(p.out, p.type, at, x);
}

DTCC_KERNEL(product_sums, ProductSums, sumsThreads) {
  constexpr int warps = sumsThreads / warpSize;
  DTCC_SHARED double room[warps][sumsColumns];
  const int64_t column = blockX() * sumsColumns + lane();
  double sum = 0;
  if (column < p.n)
    for (int64_t row = warp(); row < p.k; row += warps)
      sum += cellAt(p.rows, p.type, row * p.strides[0] + column * p.strides[1]);
  room[warp()][lane()] = sum;
  synchronize();
  if (warp() != 0 || column >= p.n)
    return;
  for (int w = 1; w < warps; ++w)
    sum += room[w][lane()];
  if (p.accumulate)
    sum += cellAt(p.sums, p.sumsType, column * p.sumsStride);
  storeCell(p.sums, p.sumsType, column * p.sumsStride, static_cast<float>(sum));
}
