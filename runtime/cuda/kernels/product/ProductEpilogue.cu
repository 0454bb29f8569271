//===- ProductEpilogue.cu - What follows a product
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue as one pass over a product's result, for cases in which cublasLt has no such epilogue or is slower with
// it.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/ProductEpilogue.h"
#include "runtime/cuda/kernels/Cells.h"
#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/product/ProductEpilogue.h"

using namespace dtcc::rt::cuda;
using dtcc::ProductActivation;

/// tanh(sqrt(2 / pi) (x + 0.044715 x^3))
static DTCC_DEVICE float geluTangent(float x) {
  return hyperbolicTangent(0.797884561f * __builtin_fmaf(0.044715f * x * x, x, x));
}

static DTCC_DEVICE float geluSlope(float y) {
  const float t = geluTangent(y);
  return 0.5f * (1 + t) + 0.5f * y * (1 - t * t) * 0.797884561f * (1 + 0.134145f * y * y);
}

template <int count> static DTCC_DEVICE void follow(const ProductEpilogue &p) {
  const int64_t cell = (blockX() * epilogueThreads + threadIndex()) * count, row = cell / p.n, j = cell % p.n;
  if (row >= p.g * p.m)
    return;
  const int64_t g = p.g == 1 ? 0 : row / p.m, i = row - g * p.m;
  const int64_t at = g * p.outStrides[0] + i * p.outStrides[1] + j * p.outStrides[2];
  auto x = Cells<count>::load(p.out, p.type, at);
  if (p.bias)
#pragma unroll
    for (int c = 0; c < count; ++c)
      x.of[c] += cellAt(p.bias, p.biasType, (j + c) * p.biasStride);
  if (p.kept)
    x.store(p.kept, p.type, i * p.keptStride + j);
  if (p.activation == static_cast<int64_t>(ProductActivation::Slope)) {
    const auto y = Cells<count>::load(p.at, p.type, i * p.atStride + j);
#pragma unroll
    for (int c = 0; c < count; ++c)
      x.of[c] *= geluSlope(y.of[c]);
  } else if (p.activation != static_cast<int64_t>(ProductActivation::None)) {
#pragma unroll
    for (int c = 0; c < count; ++c)
      x.of[c] *= 0.5f * (1 + geluTangent(x.of[c]));
  }
  x.store(p.out, p.type, at);
}

static DTCC_DEVICE void finish(const ProductSums &p, int64_t column, double sum) {
  if (p.accumulate)
    sum += cellAt(p.sums, p.sumsType, column * p.sumsStride);
  storeCell(p.sums, p.sumsType, column * p.sumsStride, static_cast<float>(sum));
}

template <int count> static DTCC_DEVICE void sumRows(const ProductSums &p) {
  constexpr int warps = sumsThreads / warpSize, columns = sumsColumns * count;
  DTCC_SHARED double room[warps][columns];
  const int64_t column = blockX() * columns + lane() * count;
  const int64_t first = blockY() * p.depth, end = least(first + p.depth, p.k);
  double sums[count] = {};
  if (column < p.n)
    for (int64_t row = first + warp(); row < end; row += warps) {
      const auto x = Cells<count>::load(p.rows, p.type, row * p.strides[0] + column * p.strides[1]);
#pragma unroll
      for (int c = 0; c < count; ++c)
        sums[c] += x.of[c];
    }
#pragma unroll
  for (int c = 0; c < count; ++c)
    room[warp()][lane() * count + c] = sums[c];
  synchronize();
  for (int c = threadIndex(); c < columns; c += sumsThreads) {
    const int64_t to = blockX() * columns + c;
    if (to >= p.n)
      continue;
    double sum = room[0][c];
    for (int w = 1; w < warps; ++w)
      sum += room[w][c];
    if (p.parts)
      p.parts[blockY() * p.n + to] = sum;
    else
      finish(p, to, sum);
  }
}

DTCC_KERNEL(product_sums_parts, ProductSums, sumsThreads) {
  const int64_t column = blockX() * sumsThreads + threadIndex();
  if (column >= p.n)
    return;
  double sum = 0;
  for (int64_t part = 0; part * p.depth < p.k; ++part)
    sum += p.parts[part * p.n + column];
  finish(p, column, sum);
}

DTCC_KERNEL(product_epilogue, ProductEpilogue, epilogueThreads) { follow<1>(p); }
DTCC_KERNEL(product_epilogue_4, ProductEpilogue, epilogueThreads) { follow<4>(p); }
DTCC_KERNEL(product_epilogue_8, ProductEpilogue, epilogueThreads) { follow<8>(p); }
DTCC_KERNEL(product_sums, ProductSums, sumsThreads) { sumRows<1>(p); }
DTCC_KERNEL(product_sums_4, ProductSums, sumsThreads) { sumRows<4>(p); }
DTCC_KERNEL(product_sums_8, ProductSums, sumsThreads) { sumRows<8>(p); }
