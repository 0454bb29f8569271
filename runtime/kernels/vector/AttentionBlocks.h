//===- AttentionBlocks.h - Blocks of queries in attention -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code that both directions of attention share. A block holds 64 queries of one
// head, and *queries lie in the lanes*: scores stand transposed, [key][query].
// So every reduction over keys (maximum, sum) is a plain vector operation, keys
// and values are read as scalars straight from their tensors, and only the block
// of queries, which all keys reuse, is transposed.
//
// Every mask but the key mask and segments is an interval of keys per query.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_ATTENTIONBLOCKS_H
#define DTCC_RUNTIME_KERNELS_VECTOR_ATTENTIONBLOCKS_H

#include "runtime/kernels/vector/SmallProduct.h"
#include "runtime/kernels/vector/VectorKernels.h"

namespace dtcc::rt::DTCC_SIMD_LEVEL {

constexpr int64_t blockQueries = attentionQueryBlock;
constexpr int64_t blockKeys = attentionKeyBlock;
constexpr float infinity = __builtin_inff();

DTCC_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
DTCC_INLINE int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }
DTCC_INLINE int64_t roundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

struct QueryBlock {
  int64_t begin, count;
  int64_t vectors;                // vectors that hold the queries; lanes past `count` repeat the last query's interval
  int64_t keyBegin, keyEnd;       // keys that some query may see
  int64_t commonBegin, commonEnd; // keys that every query may see
  int32_t lower[blockQueries];    // query's keys: lower <= j <= upper
  int32_t upper[blockQueries];
  int32_t vectorUpper[blockQueries / lanes]; // the largest `upper` of each vector
  // Segments of the queries, if there are segments: the low and the high half of their bits.
  int32_t segmentLow[blockQueries], segmentHigh[blockQueries];
};

/// Keys [begin, end) of a block of keys, all of which only vectors from `vector`
/// on see: under a causal mask, the vectors before it hold earlier queries.
struct KeySpan {
  int64_t begin, end, vector;
};
constexpr int64_t spanKeys = 16;

/// The part of a block of keys that must be computed: spans in ascending order of keys.
struct KeySpans {
  KeySpan spans[blockKeys / spanKeys];
  int count = 0;
  /// Keys that vector v may see: [0, keysOf(v)).
  int64_t keysOf(int64_t v) const {
    int64_t keys = 0;
    for (int i = 0; i < count; ++i)
      if (v >= spans[i].vector)
        keys = spans[i].end;
    return keys;
  }
};

DTCC_INLINE KeySpans makeKeySpans(const QueryBlock &block, int64_t begin, int64_t n) {
  KeySpans result;
  for (int64_t k = 0; k < n; k += spanKeys) {
    int64_t v = 0, end = least(k + spanKeys, n);
    while (v < block.vectors && block.vectorUpper[v] < begin + k)
      ++v;
    if (result.count > 0 && result.spans[result.count - 1].vector == v)
      result.spans[result.count - 1].end = end;
    else
      result.spans[result.count++] = {k, end, v};
  }
  return result;
}

DTCC_INLINE int64_t keySegment(const AttentionProblem &p, int64_t b, int64_t j) {
  return p.segments.keys[b * p.segments.keyStrides[0] + j * p.segments.keyStrides[1]];
}

/// Leaves out the keys at either end whose segment is none of the block's queries'.
static void boundBySegments(const AttentionProblem &p, int64_t b, QueryBlock &block) {
  const int64_t *segments = p.segments.rows + b * p.segments.rowStrides[0] + block.begin * p.segments.rowStrides[1];
  int64_t low = segments[0], high = segments[0];
  for (int64_t lane = 0; lane < blockQueries; ++lane) {
    int64_t segment = segments[least(lane, block.count - 1) * p.segments.rowStrides[1]];
    low = least(low, segment), high = largest(high, segment);
    block.segmentLow[lane] = (int32_t)segment, block.segmentHigh[lane] = (int32_t)(segment >> 32);
  }
  auto isOther = [&](int64_t j) { return keySegment(p, b, j) < low || keySegment(p, b, j) > high; };
  while (block.keyBegin < block.keyEnd && isOther(block.keyBegin))
    ++block.keyBegin;
  while (block.keyBegin < block.keyEnd && isOther(block.keyEnd - 1))
    --block.keyEnd;
  bool isOne = low == high;
  for (int64_t j = block.keyBegin; isOne && j < block.keyEnd; ++j)
    isOne = keySegment(p, b, j) == low;
  block.commonBegin = largest(block.commonBegin, block.keyBegin);
  block.commonEnd = isOne ? least(block.commonEnd, block.keyEnd) : block.commonBegin;
}

static void makeQueryBlock(const AttentionProblem &p, int64_t b, int64_t begin, QueryBlock &block) {
  block.begin = begin;
  block.count = least(blockQueries, p.queries - begin);
  block.vectors = (block.count + lanes - 1) / lanes;
  block.keyBegin = p.keys, block.keyEnd = 0;
  block.commonBegin = 0, block.commonEnd = p.keys;
  for (int64_t lane = 0; lane < blockQueries; ++lane) {
    int64_t i = p.firstQuery + begin + least(lane, block.count - 1);
    int64_t lower = 0, upper = p.keys - 1;
    if (p.causal)
      upper = least(upper, i + p.causalOffset);
    if (p.windowLeft >= 0)
      lower = largest(lower, i - p.windowLeft + 1);
    if (p.windowRight >= 0)
      upper = least(upper, i + p.windowRight);
    if (lower > upper)
      lower = 0, upper = -1;
    else {
      block.keyBegin = least(block.keyBegin, lower);
      block.keyEnd = largest(block.keyEnd, upper + 1);
    }
    block.commonBegin = largest(block.commonBegin, lower);
    block.commonEnd = least(block.commonEnd, upper + 1);
    block.lower[lane] = (int32_t)lower;
    block.upper[lane] = (int32_t)upper;
    int32_t &vectorUpper = block.vectorUpper[lane / lanes];
    vectorUpper = lane % lanes == 0 || (int32_t)upper > vectorUpper ? (int32_t)upper : vectorUpper;
  }
  if (p.segments.keys)
    boundBySegments(p, b, block);
}

/// True if every query may see keys [begin, end), the key mask aside.
DTCC_INLINE bool allSee(const QueryBlock &block, int64_t begin, int64_t end) {
  return begin >= block.commonBegin && end <= block.commonEnd;
}
/// Lanes of vector `v` whose query may see key `j`, the key mask aside.
DTCC_INLINE Ints sees(const AttentionProblem &p, const QueryBlock &block, int64_t b, int64_t v, int64_t j) {
  Ints lower = load(block.lower + v * lanes), upper = load(block.upper + v * lanes);
  Ints key = Ints((int32_t)j), seen = (lower <= key) & (upper >= key);
  if (!p.segments.keys)
    return seen;
  int64_t segment = keySegment(p, b, j);
  Ints low = load(block.segmentLow + v * lanes), high = load(block.segmentHigh + v * lanes);
  return seen & (low == Ints((int32_t)segment)) & (high == Ints((int32_t)(segment >> 32)));
}

/// to[c][r] = scale * from[r, c]; `to` has rows of blockQueries elements, lanes
/// past `rows` become 0.
static void packTransposed(const float *from, int64_t rowStride, int64_t columnStride, int64_t rows, int64_t columns,
                           int64_t vectors, float scale, float *to) {
  for (int64_t v = 0; v < vectors; ++v) {
    int64_t r0 = v * lanes, c0 = 0;
    const float *source = from + r0 * rowStride;
    if (rows - r0 >= lanes && columnStride == 1)
      for (; c0 + lanes <= columns; c0 += lanes)
        transposeSquare(source + c0, rowStride, to + c0 * blockQueries + r0, blockQueries, scale);
    int64_t valid = least(lanes, rows - r0);
    for (int64_t c = c0; c < columns; ++c) {
      float *target = to + c * blockQueries + r0;
      for (int64_t r = 0; r < valid; ++r)
        target[r] = scale * source[r * rowStride + c * columnStride];
      for (int64_t r = valid; r < lanes; ++r)
        target[r] = 0;
    }
  }
}

/// to[r, c] = scale * from[c][r]: the way back.
static void unpackTransposed(const float *from, int64_t rows, int64_t columns, float scale, float *to,
                             int64_t rowStride, int64_t columnStride) {
  for (int64_t r0 = 0; r0 < rows; r0 += lanes) {
    int64_t c0 = 0, valid = least(lanes, rows - r0);
    float *target = to + r0 * rowStride;
    if (valid == lanes && columnStride == 1)
      for (; c0 + lanes <= columns; c0 += lanes)
        transposeSquare(from + c0 * blockQueries + r0, blockQueries, target + c0, rowStride, scale);
    for (int64_t c = c0; c < columns; ++c)
      for (int64_t r = 0; r < valid; ++r)
        target[r * rowStride + c * columnStride] = scale * from[c * blockQueries + r0 + r];
  }
}

/// First element of head (b, h, g) from query `i` on.
DTCC_INLINE float *queryRows(const AttentionTensor &x, int64_t b, int64_t h, int64_t g, int64_t i) {
  return x.data + b * x.strides[0] + i * x.strides[1] + h * x.strides[2] + g * x.strides[3];
}
/// First element of KV head (b, h) from key `j` on.
DTCC_INLINE float *keyRows(const AttentionTensor &x, int64_t b, int64_t h, int64_t j) {
  return x.data + b * x.strides[0] + j * x.strides[1] + h * x.strides[2];
}
DTCC_INLINE bool keyAllowed(const AttentionProblem &p, int64_t b, int64_t j) {
  return !p.keyMask || p.keyMask[b * p.keyMaskStrides[0] + j * p.keyMaskStrides[1]] != 0;
}
/// The factor of q.k before the cap's tanh, and the factor after it.
DTCC_INLINE float innerScale(const AttentionProblem &p) { return p.softcap > 0 ? p.scale / p.softcap : p.scale; }

} // namespace dtcc::rt::DTCC_SIMD_LEVEL

#endif // DTCC_RUNTIME_KERNELS_VECTOR_ATTENTIONBLOCKS_H
