//===- AttentionTiles.h - What both directions of attention share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block holds a tile of rows (of queries, or of keys in the gradient of these), walks the
// tiles of the others, and keeps both in shared memory as f32. size / 16 neighbouring
// threads own a row: each computes every such column of its scores, and of its sums in
// registers, so that maxima and sums of a row are exchanges among few lanes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_ATTENTION_ATTENTIONTILES_H
#define DTCC_RUNTIME_CUDA_KERNELS_ATTENTION_ATTENTIONTILES_H

#include "runtime/abi/dtcc_rt.h"
#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/attention/Attention.h"

namespace dtcc::rt::cuda {

DTCC_DEVICE float loadCell(const HeadTensor &x, int64_t offset) {
  if (x.type == DTCC_F32)
    return static_cast<const float *>(x.data)[offset];
  if (x.type == DTCC_BF16)
    return static_cast<float>(static_cast<const __bf16 *>(x.data)[offset]);
  return static_cast<float>(static_cast<const _Float16 *>(x.data)[offset]);
}
DTCC_DEVICE void storeCell(const HeadTensor &x, int64_t offset, float value) {
  if (x.type == DTCC_F32)
    static_cast<float *>(x.data)[offset] = value;
  else if (x.type == DTCC_BF16)
    static_cast<__bf16 *>(x.data)[offset] = static_cast<__bf16>(value);
  else
    static_cast<_Float16 *>(x.data)[offset] = static_cast<_Float16>(value);
}

/// One head of one sample: h counts heads of keys, g the queries of each.
struct Head {
  int64_t b, h, g;
};
DTCC_DEVICE int64_t queryOffset(const HeadTensor &x, const Head &head, int64_t i) {
  return head.b * x.strides[0] + i * x.strides[1] + head.h * x.strides[2] + head.g * x.strides[3];
}
DTCC_DEVICE int64_t keyOffset(const HeadTensor &x, const Head &head, int64_t j) {
  return head.b * x.strides[0] + j * x.strides[1] + head.h * x.strides[2];
}
DTCC_DEVICE float *lseCell(const Attention &p, const Head &head, int64_t i) {
  const int64_t *strides = p.lse.strides;
  return static_cast<float *>(p.lse.data) + head.b * strides[0] + head.h * strides[1] + head.g * strides[2] +
         i * strides[3];
}
DTCC_DEVICE float loadLse(const Attention &p, const Head &head, int64_t i) { return *lseCell(p, head, i); }
DTCC_DEVICE int64_t dotOffset(const Attention &p, const Head &head, int64_t i) {
  return ((head.b * p.kvHeads + head.h) * p.groups + head.g) * p.queries + i;
}

/// The keys that query row `i` may see: [lower, upper]. Neither falls as i grows.
DTCC_DEVICE int64_t lowerKey(const Attention &p, int64_t i) {
  return p.windowLeft >= 0 ? largest<int64_t>(p.firstQuery + i - p.windowLeft + 1, 0) : 0;
}
DTCC_DEVICE int64_t upperKey(const Attention &p, int64_t i) {
  int64_t upper = p.keys - 1;
  if (p.causal)
    upper = least(upper, p.firstQuery + i + p.causalOffset);
  if (p.windowRight >= 0)
    upper = least(upper, p.firstQuery + i + p.windowRight);
  return upper;
}
DTCC_DEVICE bool keyAllowed(const Attention &p, int64_t b, int64_t j) {
  return !p.keyMask || p.keyMask[b * p.keyMaskStrides[0] + j * p.keyMaskStrides[1]] != 0;
}
/// Whether query i and key j are of one segment.
DTCC_DEVICE bool sharesSegment(const Attention &p, int64_t b, int64_t i, int64_t j) {
  return !p.keySegments || p.rowSegments[b * p.rowSegmentStrides[0] + i * p.rowSegmentStrides[1]] ==
                               p.keySegments[b * p.keySegmentStrides[0] + j * p.keySegmentStrides[1]];
}

/// The factor of q.k, before the cap's tanh if there is one.
DTCC_DEVICE float innerScale(const Attention &p) { return p.softcap > 0 ? p.scale / p.softcap : p.scale; }

/// Column `e` of a query that sees no key: the mean of all values, zero or NaN. `before` holds that so far.
DTCC_DEVICE float emptyCell(const Attention &p, const Head &head, int e, float before) {
  if (p.emptyRow != 0)
    return p.emptyRow == 1 ? 0.0f : __builtin_nanf("");
  double sum = p.continues && p.keysBefore > 0 ? before * static_cast<double>(p.keysBefore) : 0;
  for (int64_t j = 0; j < p.keys; ++j)
    sum += loadCell(p.v, keyOffset(p.v, head, j) + e * p.v.strides[3]);
  return static_cast<float>(sum / static_cast<double>(p.keysBefore + p.keys));
}

/// Rows of one head: cell (i, x) lies at base + i * row + x * column.
struct HeadRows {
  HeadTensor x;
  int64_t base, row, column, rows;
  int columns;
};
DTCC_DEVICE HeadRows queryRows(const Attention &p, const HeadTensor &x, const Head &head, int64_t columns) {
  return {x, queryOffset(x, head, 0), x.strides[1], x.strides[4], p.queries, static_cast<int>(columns)};
}
DTCC_DEVICE HeadRows keyRows(const Attention &p, const HeadTensor &x, const Head &head, int64_t columns) {
  return {x, keyOffset(x, head, 0), x.strides[1], x.strides[3], p.keys, static_cast<int>(columns)};
}

/// Rows [first, first + tile) to shared memory; those past the last are 0.
DTCC_DEVICE void loadTile(const HeadRows &from, int64_t first, float *to) {
  const int stride = static_cast<int>(attentionRowFloats(from.columns));
#pragma unroll 2
  for (int i = threadIndex(); i < attentionTile * from.columns; i += blockThreads()) {
    const int row = i / from.columns, column = i % from.columns;
    to[row * stride + column] =
        first + row < from.rows ? loadCell(from.x, from.base + (first + row) * from.row + column * from.column) : 0.0f;
  }
}
/// The way back, or added to what is there.
DTCC_DEVICE void storeTile(const float *from, const HeadRows &to, int64_t first, bool adds) {
  const int stride = static_cast<int>(attentionRowFloats(to.columns));
#pragma unroll 1
  for (int i = threadIndex(); i < attentionTile * to.columns; i += blockThreads()) {
    const int row = i / to.columns, column = i % to.columns;
    if (first + row >= to.rows)
      return;
    const int64_t cell = to.base + (first + row) * to.row + column * to.column;
    storeCell(to.x, cell, from[row * stride + column] + (adds ? loadCell(to.x, cell) : 0.0f));
  }
}

/// The place of a thread of a block of attentionThreads(size).
template <int size> struct RowThread {
  static constexpr int threads = size / 16;              // of a row
  static constexpr int scores = attentionTile / threads; // of a thread
  static constexpr int cells = size / threads;           // of a thread's sums
  int row, part;
  DTCC_DEVICE RowThread() : row(threadIndex() / threads), part(threadIndex() % threads) {}
  DTCC_DEVICE int column(int i) const { return part + i * threads; }

  /// Own row of a tile of shared memory to sums, and back times a factor.
  DTCC_DEVICE void take(const float *tile, int columns, float (&sums)[cells]) const {
#pragma unroll
    for (int i = 0; i < cells; ++i)
      if (column(i) < columns)
        sums[i] = tile[row * static_cast<int>(attentionRowFloats(columns)) + column(i)];
  }
  DTCC_DEVICE void put(const float (&sums)[cells], float factor, int columns, float *tile) const {
#pragma unroll
    for (int i = 0; i < cells; ++i)
      if (column(i) < columns)
        tile[row * static_cast<int>(attentionRowFloats(columns)) + column(i)] = sums[i] * factor;
  }

  /// result[i] = own row of `mine` times row column(i) of `others`.
  DTCC_DEVICE void products(const float *mine, const float *others, int columns, float (&result)[scores]) const {
    const int stride = static_cast<int>(attentionRowFloats(columns));
#pragma unroll
    for (int i = 0; i < scores; ++i)
      result[i] = 0;
#pragma unroll 4
    for (int x = 0; x < columns; ++x) {
      float a = mine[row * stride + x];
#pragma unroll
      for (int i = 0; i < scores; ++i)
        result[i] += a * others[column(i) * stride + x];
    }
  }
  /// sums[i] += own row of `weights` times column column(i) of `others`.
  DTCC_DEVICE void addProducts(const float *weights, const float *others, int columns, float (&sums)[cells]) const {
    const int stride = static_cast<int>(attentionRowFloats(columns));
#pragma unroll 4
    for (int j = 0; j < attentionTile; ++j) {
      float w = weights[row * (attentionTile + 1) + j];
#pragma unroll
      for (int i = 0; i < cells; ++i)
        if (column(i) < columns)
          sums[i] += w * others[j * stride + column(i)];
    }
  }
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_ATTENTION_ATTENTIONTILES_H
