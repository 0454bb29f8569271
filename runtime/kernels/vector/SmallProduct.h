//===- SmallProduct.h - Matrix products of cached blocks -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C[rows, columns] (+)= A[rows, depth] * B[depth, columns] for blocks that lie in
// the first caches. Rows of B and C are contiguous and padded to whole vectors;
// A's elements are read one by one as scalars, so A may have any strides and
// needs no packing. Attention is made of these products, in both directions.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_SMALLPRODUCT_H
#define DTCC_RUNTIME_KERNELS_VECTOR_SMALLPRODUCT_H

#include "runtime/kernels/vector/Simd.h"

namespace dtcc::rt::DTCC_SIMD_LEVEL {

/// One register block: R rows of V vectors over the whole depth. The sum starts at
/// zero and is added at the end: sums of blocks round less than one long sum.
template <int R, int V, bool Accumulate>
static void productTile(int64_t depth, const float *a, int64_t aRow, int64_t aColumn, const float *b, int64_t bRow,
                        float *c, int64_t cRow) {
  Floats sum[R][V];
#pragma clang loop unroll(full)
  for (int r = 0; r < R; ++r)
#pragma clang loop unroll(full)
    for (int v = 0; v < V; ++v)
      sum[r][v] = broadcast(0.0f);
#pragma clang loop unroll_count(R == tileRows ? 8 : 2)
  for (int64_t k = 0; k < depth; ++k) {
    Floats row[V];
#pragma clang loop unroll(full)
    for (int v = 0; v < V; ++v)
      row[v] = load(b + k * bRow + v * lanes);
#pragma clang loop unroll(full)
    for (int r = 0; r < R; ++r) {
      Floats scalar = broadcast(a[r * aRow + k * aColumn]);
#pragma clang loop unroll(full)
      for (int v = 0; v < V; ++v)
        sum[r][v] = scalar * row[v] + sum[r][v];
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < R; ++r)
#pragma clang loop unroll(full)
    for (int v = 0; v < V; ++v)
      store(c + r * cRow + v * lanes, Accumulate ? load(c + r * cRow + v * lanes) + sum[r][v] : sum[r][v]);
}

template <int R, int V> struct ProductRows {
  /// Blocks of R rows, then of fewer.
  template <bool Accumulate>
  static void run(int64_t rows, int64_t depth, const float *a, int64_t aRow, int64_t aColumn, const float *b,
                  int64_t bRow, float *c, int64_t cRow) {
    for (; rows >= R; rows -= R, a += R * aRow, c += R * cRow)
      productTile<R, V, Accumulate>(depth, a, aRow, aColumn, b, bRow, c, cRow);
    if (rows > 0)
      ProductRows<R - 1, V>::template run<Accumulate>(rows, depth, a, aRow, aColumn, b, bRow, c, cRow);
  }
};
template <int V> struct ProductRows<0, V> {
  template <bool Accumulate>
  static void run(int64_t, int64_t, const float *, int64_t, int64_t, const float *, int64_t, float *, int64_t) {}
};

template <int V> struct ProductColumns {
  template <bool Accumulate>
  static void run(int64_t rows, int64_t vectors, int64_t depth, const float *a, int64_t aRow, int64_t aColumn,
                  const float *b, int64_t bRow, float *c, int64_t cRow) {
    for (; vectors >= V; vectors -= V, b += V * lanes, c += V * lanes)
      ProductRows<tileRows, V>::template run<Accumulate>(rows, depth, a, aRow, aColumn, b, bRow, c, cRow);
    if (vectors > 0)
      ProductColumns<V - 1>::template run<Accumulate>(rows, vectors, depth, a, aRow, aColumn, b, bRow, c, cRow);
  }
};
template <> struct ProductColumns<0> {
  template <bool Accumulate>
  static void run(int64_t, int64_t, int64_t, const float *, int64_t, int64_t, const float *, int64_t, float *,
                  int64_t) {}
};

/// C[rows, vectors * lanes] (+)= A[rows, depth] * B[depth, vectors * lanes].
/// Strides in elements; B's and C's columns are contiguous.
template <bool Accumulate>
static void product(int64_t rows, int64_t vectors, int64_t depth, const float *a, int64_t aRow, int64_t aColumn,
                    const float *b, int64_t bRow, float *c, int64_t cRow) {
  ProductColumns<tileVectors>::run<Accumulate>(rows, vectors, depth, a, aRow, aColumn, b, bRow, c, cRow);
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL

#endif // DTCC_RUNTIME_KERNELS_VECTOR_SMALLPRODUCT_H
