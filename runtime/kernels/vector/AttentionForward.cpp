//===- AttentionForward.cpp - Softmax(q k^T) v by blocks -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block of queries against all its keys with the running maximum and sum of
// online softmax (Milakov and Gimelshein 2018; FlashAttention, Dao et al. 2022):
// no tensor of queries times keys exists. The result of a block does not depend
// on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/AttentionBlocks.h"

#include "runtime/kernels/vector/Table.h"

extern "C" double log(double);

namespace dtcc::rt::DTCC_SIMD_LEVEL {
namespace {

struct RunningSoftmax {
  float largest[blockQueries];
  float sum[blockQueries];
};

/// Caps and masks the scores of the keys from `begin` on in place.
void adjustScores(const AttentionProblem &p, const QueryBlock &block, const KeySpans &spans, int64_t b, int64_t begin,
                  float *scores) {
  for (int x = 0; x < spans.count; ++x) {
    auto [first, last, vector] = spans.spans[x];
    bool everywhere = allSee(block, begin + first, begin + last);
    for (int64_t j = first; j < last; ++j) {
      bool allowed = keyAllowed(p, b, begin + j), whole = everywhere && allowed;
      if (whole && p.softcap <= 0)
        continue;
      for (int64_t v = vector; v < block.vectors; ++v) {
        float *s = scores + j * blockQueries + v * lanes;
        Floats score = load(s);
        if (p.softcap > 0)
          score = hyperbolicTangent(score) * p.softcap;
        if (!whole)
          score = select(allowed ? sees(p, block, b, v, begin + j) : Ints(0), score, broadcast(-infinity));
        store(s, score);
      }
    }
  }
}

/// Turns scores into exp(score - largest) and rescales what was summed before.
void stepSoftmax(const QueryBlock &block, const KeySpans &spans, int64_t vSize, float *scores, float *sums,
                 RunningSoftmax &state) {
  for (int64_t v = 0; v < block.vectors; ++v) {
    const int64_t n = spans.keysOf(v);
    if (n == 0)
      continue;
    float *s = scores + v * lanes;
    Floats before = load(state.largest + v * lanes);
    Floats even = before, odd = before;
    int64_t j = 0;
    for (; j + 2 <= n; j += 2) {
      even = max(even, load(s + j * blockQueries));
      odd = max(odd, load(s + (j + 1) * blockQueries));
    }
    if (j < n)
      even = max(even, load(s + j * blockQueries));
    Floats top = max(even, odd);
    // A query that has seen no key yet: any finite shift gives exp(-inf) = 0.
    Floats shift = select(top == -infinity, broadcast(0.0f), top);
    Floats sum = broadcast(0.0f);
    for (j = 0; j < n; ++j) {
      Floats e = exponential(load(s + j * blockQueries) - shift);
      store(s + j * blockQueries, e);
      sum += e;
    }
    Floats factor = exponential(before - shift);
    store(state.largest + v * lanes, top);
    store(state.sum + v * lanes, load(state.sum + v * lanes) * factor + sum);
    for (int64_t e = 0; e < vSize; ++e) {
      float *o = sums + e * blockQueries + v * lanes;
      store(o, load(o) * factor);
    }
  }
}

/// Column `lane` of `sums` = the mean of all values, for a query that sees no key; `out` holds that so far.
void fillEmptyRow(const AttentionProblem &p, int64_t b, int64_t h, const float *out, int64_t lane, float *sums) {
  const float *values = keyRows(p.v, b, h, 0);
  for (int64_t e = 0; e < p.vSize; ++e) {
    double sum = p.continues && p.keysBefore > 0 ? out[e * p.out.strides[4]] * (double)p.keysBefore : 0;
    for (int64_t j = 0; j < p.keys; ++j)
      sum += values[j * p.v.strides[1] + e * p.v.strides[3]];
    sums[e * blockQueries + lane] = p.emptyRow == EmptyRow::NaN    ? __builtin_nanf("")
                                    : p.emptyRow == EmptyRow::Zero ? 0
                                                                   : (float)(sum / (double)(p.keysBefore + p.keys));
  }
}

float *lseRows(const AttentionProblem &p, int64_t b, int64_t h, int64_t g, int64_t begin) {
  const int64_t *strides = p.lse.strides;
  return p.lse.data + b * strides[0] + h * strides[1] + g * strides[2] + begin * strides[3];
}

/// The state after the keys before: out is normalised, so their sum of exponentials counts as one
/// key of score lse. False if nothing is left to do: the block sees no key, and saw some before.
bool resume(const AttentionProblem &p, const QueryBlock &block, const float *out, const float *lse, float *sums,
            RunningSoftmax &state) {
  bool idle = block.keyBegin >= block.keyEnd;
  for (int64_t i = 0; i < block.count; ++i)
    if (float before = lse[i * p.lse.strides[3]]; before == infinity)
      idle = false;
    else
      state.largest[i] = before, state.sum[i] = 1;
  if (idle)
    return false;
  packTransposed(out, p.out.strides[1], p.out.strides[4], block.count, p.vSize, block.vectors, 1.0f, sums);
  for (int64_t i = 0; i < block.count; ++i)
    for (int64_t e = 0; state.sum[i] == 0 && e < p.vSize; ++e)
      sums[e * blockQueries + i] = 0;
  return true;
}

} // namespace

void attention(const AttentionProblem &p, int64_t item, float *scratch) {
  int64_t blocks = (p.queries + blockQueries - 1) / blockQueries;
  int64_t begin = item % blocks * blockQueries;
  item /= blocks;
  int64_t g = item % p.groups, h = item / p.groups % p.kvHeads, b = item / p.groups / p.kvHeads;

  QueryBlock block;
  makeQueryBlock(p, b, begin, block);
  float *queries = scratch;                          // [d][query]
  float *scores = queries + p.qkSize * blockQueries; // [key][query]
  float *sums = scores + blockKeys * blockQueries;   // [e][query]
  packTransposed(queryRows(p.q, b, h, g, begin), p.q.strides[1], p.q.strides[4], block.count, p.qkSize, block.vectors,
                 innerScale(p), queries);
  RunningSoftmax state;
  for (int64_t i = 0; i < blockQueries; ++i)
    state.largest[i] = -infinity, state.sum[i] = 0;
  for (int64_t i = 0; i < p.vSize * blockQueries; ++i)
    sums[i] = 0;
  float *out = queryRows(p.out, b, h, g, begin), *lse = lseRows(p, b, h, g, begin);
  if (p.continues && !resume(p, block, out, lse, sums, state))
    return;

  for (int64_t j = block.keyBegin; j < block.keyEnd; j += blockKeys) {
    int64_t n = least(blockKeys, block.keyEnd - j);
    const KeySpans spans = makeKeySpans(block, j, n);
    const float *keys = keyRows(p.k, b, h, j), *values = keyRows(p.v, b, h, j);
    for (int x = 0; x < spans.count; ++x) {
      auto [first, last, v] = spans.spans[x];
      product<false>(last - first, block.vectors - v, p.qkSize, keys + first * p.k.strides[1], p.k.strides[1],
                     p.k.strides[3], queries + v * lanes, blockQueries, scores + first * blockQueries + v * lanes,
                     blockQueries);
    }
    adjustScores(p, block, spans, b, j, scores);
    stepSoftmax(block, spans, p.vSize, scores, sums, state);
    for (int x = 0; x < spans.count; ++x) {
      auto [first, last, v] = spans.spans[x];
      product<true>(p.vSize, block.vectors - v, last - first, values + first * p.v.strides[1], p.v.strides[3],
                    p.v.strides[1], scores + first * blockQueries + v * lanes, blockQueries, sums + v * lanes,
                    blockQueries);
    }
  }

  for (int64_t v = 0; v < block.vectors; ++v) {
    Floats inverse = 1.0f / load(state.sum + v * lanes);
    for (int64_t e = 0; e < p.vSize; ++e) {
      float *o = sums + e * blockQueries + v * lanes;
      store(o, load(o) * inverse);
    }
  }
  for (int64_t i = 0; i < block.count; ++i) {
    bool empty = state.sum[i] == 0;
    lse[i * p.lse.strides[3]] = empty ? infinity : (float)(state.largest[i] + log((double)state.sum[i]));
    if (empty)
      fillEmptyRow(p, b, h, out + i * p.out.strides[1], i, sums);
  }
  unpackTransposed(sums, block.count, p.vSize, 1.0f, out, p.out.strides[1], p.out.strides[4]);
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
