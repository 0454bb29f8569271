//===- AttentionMma.cu - Attention of halves on tensor cores
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention on tensor cores: the sums of AttentionForward.cu and AttentionBackward.cu, one warp per tile of 16 rows.
// Weights are rounded to the operands' type where they meet values, as in FlashAttention 2
// (Dao 2023), and everything is summed in f32. Heads smaller than the kernel's are filled up
// with zeros. Scores with a cap are left to the other kernels.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Mma.h"
#include "runtime/cuda/kernels/attention/AttentionTiles.h"

namespace dtcc::rt::cuda {
namespace {

constexpr int size = DTCC_SIZE, stride = mmaStride(size), forwardKeys = 64, others = mmaOthers(size);
constexpr float log2e = 1.44269504f;

struct alignas(16) Unit16 {
  uint32_t words[4];
};

/// Rows [first, first + count) of a head to shared memory; 0 past the last one and past the head's columns.
template <int count, typename T> DTCC_DEVICE void loadHalves(const HeadRows &from, int64_t first, T *to) {
#pragma unroll 4
  for (int i = threadIndex(); i < count * size / 8; i += mmaThreads) {
    const int row = i / (size / 8), column = i % (size / 8) * 8;
    Unit16 &cell = *reinterpret_cast<Unit16 *>(to + row * stride + column);
    if (first + row < from.rows && column < from.columns)
      cell = *reinterpret_cast<const Unit16 *>(static_cast<const T *>(from.x.data) + from.base +
                                               (first + row) * from.row + column);
    else
      cell = {};
  }
}

/// Index in the block of a lane's row r (0 or 1).
DTCC_DEVICE int laneRow(int r) { return warp() * 16 + lane() / 4 + r * 8; }
/// Column of a lane's cell c in tile n.
DTCC_DEVICE int laneColumn(int n, int c) { return n * 8 + lane() % 4 * 2 + c; }

/// The columns [low, high] of the block that a lane's row sees of the tile at hand, and of a lane's columns (bit
/// 2 n + c) those whose key the key mask and the segment of query i allow.
struct Seen {
  int low, high;
  DTCC_DEVICE Seen(int64_t first, int64_t last, int64_t begin)
      : low(static_cast<int>(largest<int64_t>(first - begin, 0))),
        high(static_cast<int>(largest<int64_t>(least<int64_t>(last - begin, 64), -1))) {}
  DTCC_DEVICE bool operator()(int column) const { return column >= low && column <= high; }
};
DTCC_DEVICE uint32_t allowedKeys(const Attention &p, int64_t b, int64_t i, int64_t begin, int columns) {
  if (!p.keyMask && !p.keySegments)
    return ~0u;
  uint32_t allowed = 0;
#pragma unroll 1
  for (int x = 0; x < columns / 4; ++x)
    if (const int64_t j = begin + laneColumn(x / 2, x % 2);
        i < p.queries && j < p.keys && keyAllowed(p, b, j) && sharesSegment(p, b, i, j))
      allowed |= 1u << x;
  return allowed;
}
/// Whether all of queries [i, iEnd) see all of keys [j, jEnd).
DTCC_DEVICE bool allSee(const Attention &p, int64_t i, int64_t iEnd, int64_t j, int64_t jEnd) {
  return !p.keyMask && !p.keySegments && iEnd <= p.queries && jEnd <= p.keys && lowerKey(p, iEnd - 1) <= j &&
         upperKey(p, i) >= jEnd - 1;
}
/// The queries that see key j: [lower, upper].
DTCC_DEVICE int64_t lowerQuery(const Attention &p, int64_t j) {
  int64_t lower = 0;
  if (p.causal)
    lower = largest(lower, j - p.firstQuery - p.causalOffset);
  if (p.windowRight >= 0)
    lower = largest(lower, j - p.firstQuery - p.windowRight);
  return lower;
}
DTCC_DEVICE int64_t upperQuery(const Attention &p, int64_t j) {
  return p.windowLeft >= 0 ? least(p.queries - 1, j - p.firstQuery + p.windowLeft - 1) : p.queries - 1;
}

/// Writes factor * sums of row r of the lane, in T, or in f32 (sums of parts) and perhaps added to what is there.
template <typename T>
DTCC_DEVICE void storeRow(const HeadRows &to, int64_t i, int r, float factor, bool adds,
                          const float (&sums)[size / 8][4]) {
  const int64_t row = to.base + i * to.row;
  if (to.x.type != DTCC_F32) {
#pragma unroll
    for (int n = 0; n < size / 8; ++n)
      if (laneColumn(n, 0) < to.columns)
        *reinterpret_cast<uint32_t *>(static_cast<T *>(to.x.data) + row + laneColumn(n, 0)) =
            pack<T>(sums[n][r * 2] * factor, sums[n][r * 2 + 1] * factor);
    return;
  }
#pragma unroll
  for (int n = 0; n < size / 8; ++n)
    if (laneColumn(n, 0) < to.columns)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float &cell = static_cast<float *>(to.x.data)[row + laneColumn(n, c)];
        cell = sums[n][r * 2 + c] * factor + (adds ? cell : 0.0f);
      }
}
template <typename T>
DTCC_DEVICE void storeRows(const Attention &p, const HeadRows &to, int64_t first, const float (&factor)[2],
                           const float (&sums)[size / 8][4]) {
#pragma unroll
  for (int r = 0; r < 2; ++r)
    if (const int64_t i = first + laneRow(r); i < to.rows)
      storeRow<T>(to, i, r, factor[r], p.continues, sums);
}

template <typename T> DTCC_DEVICE void forward(const Attention &p) {
  T *q = reinterpret_cast<T *>(dynamicShared), *keys = q + mmaRows * stride, *values = keys + forwardKeys * stride;
  const int64_t tiles = (p.queries + mmaRows - 1) / mmaRows, item = blockX();
  // Late queries see most under a causal mask: they start first.
  const int64_t first = (tiles - 1 - item % tiles) * mmaRows, heads = item / tiles;
  const Head head = {heads / (p.kvHeads * p.groups), heads / p.groups % p.kvHeads, heads % p.groups};
  const HeadRows k = keyRows(p, p.k, head, p.qkSize), v = keyRows(p, p.v, head, p.vSize),
                 out = queryRows(p, p.out, head, p.vSize);
  loadHalves<mmaRows>(queryRows(p, p.q, head, p.qkSize), first, q);

  float top[2] = {-infinity, -infinity}, sum[2] = {}, sums[size / 8][4] = {};
  if (p.continues)
  // out is normalised: the keys before count as one of score lse.
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int64_t i = first + laneRow(r);
      const float before = i < p.queries ? loadLse(p, head, i) : infinity;
      if (before == infinity)
        continue;
      top[r] = before * log2e, sum[r] = lane() % 4 == 0;
#pragma unroll
      for (int n = 0; n < size / 8; ++n)
#pragma unroll
        for (int c = 0; c < 2; ++c)
          if (laneColumn(n, c) < p.vSize)
            sums[n][r * 2 + c] = static_cast<const float *>(p.out.data)[out.base + i * out.row + laneColumn(n, c)];
    }

  const float scale = p.scale * log2e;
  const int64_t lower[2] = {lowerKey(p, first + laneRow(0)), lowerKey(p, first + laneRow(1))};
  const int64_t upper[2] = {upperKey(p, first + laneRow(0)), upperKey(p, first + laneRow(1))};
  const int64_t last = least(first + mmaRows, p.queries), end = upperKey(p, last - 1) + 1;
  for (int64_t begin = lowerKey(p, first) / forwardKeys * forwardKeys; begin < end; begin += forwardKeys) {
    synchronize();
    loadHalves<forwardKeys>(k, begin, keys);
    loadHalves<forwardKeys>(v, begin, values);
    synchronize();
    float scores[forwardKeys / 8][4] = {};
    multiplyRows<T, size, forwardKeys, stride>(q + warp() * 16 * stride, keys, scores);
    const bool whole = allSee(p, first, first + mmaRows, begin, begin + forwardKeys);
    const uint32_t allowed[2] = {allowedKeys(p, head.b, first + laneRow(0), begin, forwardKeys),
                                 allowedKeys(p, head.b, first + laneRow(1), begin, forwardKeys)};
    const Seen seen[2] = {{lower[0], upper[0], begin}, {lower[1], upper[1], begin}};
    float here[2] = {top[0], top[1]};
#pragma unroll
    for (int n = 0; n < forwardKeys / 8; ++n)
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        float score = scores[n][c] * scale;
        if (!whole && !(seen[c / 2](laneColumn(n, c % 2)) && allowed[c / 2] >> (n * 2 + c % 2) & 1))
          score = -infinity;
        scores[n][c] = score;
        here[c / 2] = largest(here[c / 2], score);
      }
    float shift[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      here[r] = largest(here[r], exchange(here[r], 1));
      here[r] = largest(here[r], exchange(here[r], 2));
      // A query that has seen no key yet: any finite shift gives 2^-inf = 0.
      shift[r] = here[r] == -infinity ? 0 : here[r];
      const float factor = exp2Approximate(top[r] - shift[r]);
      top[r] = here[r];
      sum[r] *= factor;
#pragma unroll
      for (int n = 0; n < size / 8; ++n)
        sums[n][r * 2] *= factor, sums[n][r * 2 + 1] *= factor;
    }
#pragma unroll
    for (int n = 0; n < forwardKeys / 8; ++n)
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        scores[n][c] = exp2Approximate(scores[n][c] - shift[c / 2]);
        sum[c / 2] += scores[n][c];
      }
    addRows<T, size, forwardKeys, stride>(scores, values, sums);
  }

#pragma unroll
  for (int r = 0; r < 2; ++r) {
    sum[r] += exchange(sum[r], 1);
    sum[r] += exchange(sum[r], 2);
    const int64_t i = first + laneRow(r);
    if (i >= p.queries)
      continue;
    const bool empty = sum[r] == 0;
    if (!empty)
      storeRow<T>(out, i, r, 1 / sum[r], /*adds=*/false, sums);
#pragma unroll 1
    for (int column = lane() % 4; column < p.vSize && empty; column += 4) {
      const int64_t cell = out.base + i * out.row + column;
      storeCell(p.out, cell, emptyCell(p, head, column, p.continues ? loadCell(p.out, cell) : 0));
    }
    if (lane() % 4 == 0)
      *lseCell(p, head, i) = empty ? infinity : static_cast<float>((top[r] / log2e) + logarithm(sum[r]));
  }
}

/// Shared memory of the gradient kernels: the block's own rows, and the other rows that they are multiplied with.
/// `first` times `first` gives scores; `second` times `second` gives the gradient of the scores.
template <typename T> struct Halves {
  T *ownFirst, *ownSecond, *otherFirst, *otherSecond;
  float *lse, *dots; // of other queries
  DTCC_DEVICE Halves() {
    ownFirst = reinterpret_cast<T *>(dynamicShared), ownSecond = ownFirst + mmaRows * stride;
    otherFirst = ownSecond + mmaRows * stride, otherSecond = otherFirst + others * stride;
    lse = reinterpret_cast<float *>(otherSecond + others * stride), dots = lse + others;
  }
  DTCC_DEVICE void multiply(float (&weights)[others / 8][4], float (&grads)[others / 8][4]) const {
    multiplyRows<T, size, others, stride>(ownFirst + warp() * 16 * stride, otherFirst, weights);
    multiplyRows<T, size, others, stride>(ownSecond + warp() * 16 * stride, otherSecond, grads);
  }
};

/// From q.k and dout.v to P and dS before the factor `scale`. `lse`: as an exponent of 2.
DTCC_DEVICE void differentiate(bool seen, float scale, float lse, float dot, float &weight, float &grad) {
  weight = seen ? exp2Approximate(weight * scale - lse) : 0.0f;
  grad = weight * (grad - dot);
}

template <typename T> DTCC_DEVICE void queryGradients(const Attention &p) {
  const Halves<T> s;
  const int64_t tiles = (p.queries + mmaRows - 1) / mmaRows, item = blockX();
  const int64_t first = (tiles - 1 - item % tiles) * mmaRows, heads = item / tiles;
  const Head head = {heads / (p.kvHeads * p.groups), heads / p.groups % p.kvHeads, heads % p.groups};
  const HeadRows k = keyRows(p, p.k, head, p.qkSize), v = keyRows(p, p.v, head, p.vSize);
  loadHalves<mmaRows>(queryRows(p, p.q, head, p.qkSize), first, s.ownFirst);
  loadHalves<mmaRows>(queryRows(p, p.dout, head, p.vSize), first, s.ownSecond);
  float lse[2], dot[2], sums[size / 8][4] = {};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int64_t i = first + laneRow(r);
    lse[r] = i < p.queries ? loadLse(p, head, i) * log2e : infinity,
    dot[r] = i < p.queries ? p.dots[dotOffset(p, head, i)] : 0;
  }
  const float scale = p.scale * log2e;
  const int64_t lower[2] = {lowerKey(p, first + laneRow(0)), lowerKey(p, first + laneRow(1))};
  const int64_t upper[2] = {upperKey(p, first + laneRow(0)), upperKey(p, first + laneRow(1))};
  const int64_t last = least(first + mmaRows, p.queries), end = upperKey(p, last - 1) + 1;
  for (int64_t begin = lowerKey(p, first) / others * others; begin < end; begin += others) {
    synchronize();
    loadHalves<others>(k, begin, s.otherFirst);
    loadHalves<others>(v, begin, s.otherSecond);
    synchronize();
    float weights[others / 8][4] = {}, grads[others / 8][4] = {};
    s.multiply(weights, grads);
    const bool whole = allSee(p, first, first + mmaRows, begin, begin + others);
    const uint32_t allowed[2] = {allowedKeys(p, head.b, first + laneRow(0), begin, others),
                                 allowedKeys(p, head.b, first + laneRow(1), begin, others)};
    const Seen seen[2] = {{lower[0], upper[0], begin}, {lower[1], upper[1], begin}};
#pragma unroll
    for (int n = 0; n < others / 8; ++n)
#pragma unroll
      for (int c = 0; c < 4; ++c)
        differentiate(whole || (seen[c / 2](laneColumn(n, c % 2)) && allowed[c / 2] >> (n * 2 + c % 2) & 1), scale,
                      lse[c / 2], dot[c / 2], weights[n][c], grads[n][c]);
    addRows<T, size, others, stride>(grads, s.otherFirst, sums);
  }
  float factor[2];
#pragma unroll
  for (int r = 0; r < 2; ++r)
    factor[r] = lse[r] == infinity && p.emptyRow == 2 ? __builtin_nanf("") : p.scale;
  storeRows<T>(p, queryRows(p, p.dq, head, p.qkSize), first, factor, sums);
}

template <typename T> DTCC_DEVICE void keyGradients(const Attention &p) {
  const Halves<T> s;
  const int64_t tiles = (p.keys + mmaRows - 1) / mmaRows, item = blockX();
  const int64_t first = item % tiles * mmaRows, heads = item / tiles;
  Head head = {heads / p.kvHeads, heads % p.kvHeads, 0};
  const int64_t last = least(first + mmaRows, p.keys) - 1;
  const float scale = p.scale * log2e;
  const int64_t lower[2] = {lowerQuery(p, first + laneRow(0)), lowerQuery(p, first + laneRow(1))};
  const int64_t upper[2] = {upperQuery(p, first + laneRow(0)), upperQuery(p, first + laneRow(1))};
  bool allowed[2];
  for (int r = 0; r < 2; ++r)
    allowed[r] = first + laneRow(r) <= last && keyAllowed(p, head.b, first + laneRow(r));
  loadHalves<mmaRows>(keyRows(p, p.k, head, p.qkSize), first, s.ownFirst);
  loadHalves<mmaRows>(keyRows(p, p.v, head, p.vSize), first, s.ownSecond);
  float dk[size / 8][4] = {}, dv[size / 8][4] = {};
  for (head.g = 0; head.g < p.groups; ++head.g)
    for (int64_t begin = 0; begin < p.queries; begin += others) {
      if (upperKey(p, least(begin + others, p.queries) - 1) < first || lowerKey(p, begin) > last)
        continue;
      synchronize();
      loadHalves<others>(queryRows(p, p.q, head, p.qkSize), begin, s.otherFirst);
      loadHalves<others>(queryRows(p, p.dout, head, p.vSize), begin, s.otherSecond);
      if (const int64_t i = begin + threadIndex(); threadIndex() < others) {
        s.lse[threadIndex()] = i < p.queries ? loadLse(p, head, i) * log2e : infinity; // P = 0
        s.dots[threadIndex()] = i < p.queries ? p.dots[dotOffset(p, head, i)] : 0;
      }
      synchronize();
      float weights[others / 8][4] = {}, grads[others / 8][4] = {};
      s.multiply(weights, grads);
      const bool whole = allSee(p, begin, begin + others, first, first + mmaRows);
      const Seen seen[2] = {{lower[0], upper[0], begin}, {lower[1], upper[1], begin}};
#pragma unroll
      for (int n = 0; n < others / 8; ++n)
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          const int column = laneColumn(n, c % 2);
          const int64_t i = begin + column, j = first + laneRow(c / 2);
          const bool sees =
              whole || (seen[c / 2](column) && allowed[c / 2] && (i >= p.queries || sharesSegment(p, head.b, i, j)));
          differentiate(sees, scale, s.lse[column], s.dots[column], weights[n][c], grads[n][c]);
        }
      addRows<T, size, others, stride>(weights, s.otherSecond, dv);
      addRows<T, size, others, stride>(grads, s.otherFirst, dk);
    }
  storeRows<T>(p, keyRows(p, p.dk, head, p.qkSize), first, {p.scale, p.scale}, dk);
  storeRows<T>(p, keyRows(p, p.dv, head, p.vSize), first, {1, 1}, dv);
}

} // namespace
} // namespace dtcc::rt::cuda

using namespace dtcc::rt::cuda;

using bf16 = __bf16;
using f16 = _Float16;

DTCC_KERNEL(attention_forward, Attention, mmaThreads) { forward<DTCC_TYPE>(p); }
DTCC_KERNEL(attention_queries, Attention, mmaThreads) { queryGradients<DTCC_TYPE>(p); }
DTCC_KERNEL(attention_keys, Attention, mmaThreads) { keyGradients<DTCC_TYPE>(p); }
