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

/// Caps and masks the scores of keys [begin, begin + n) in place.
void adjustScores(const AttentionProblem &p, const QueryBlock &block, int64_t b, int64_t begin, int64_t n,
                  float *scores) {
  if (p.softcap > 0)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t v = 0; v < block.vectors; ++v) {
        float *s = scores + j * blockQueries + v * lanes;
        store(s, hyperbolicTangent(load(s)) * p.softcap);
      }
  bool everywhere = allSee(block, begin, begin + n);
  if (everywhere && !p.keyMask)
    return;
  for (int64_t j = 0; j < n; ++j) {
    bool allowed = keyAllowed(p, b, begin + j);
    if (allowed && everywhere)
      continue;
    for (int64_t v = 0; v < block.vectors; ++v) {
      float *s = scores + j * blockQueries + v * lanes;
      Ints seen = allowed ? sees(block, v, begin + j) : Ints(0);
      store(s, select(seen, load(s), broadcast(-infinity)));
    }
  }
}

/// Turns scores into exp(score - largest) and rescales what was summed before.
void stepSoftmax(const QueryBlock &block, int64_t n, int64_t vSize, float *scores, float *sums, RunningSoftmax &state) {
  for (int64_t v = 0; v < block.vectors; ++v) {
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

/// out = mean of all values, for a query that sees no key.
void writeEmptyRow(const AttentionProblem &p, int64_t b, int64_t h, float *out) {
  const float *values = keyRows(p.v, b, h, 0);
  for (int64_t e = 0; e < p.vSize; ++e) {
    double sum = 0;
    if (p.emptyRow == EmptyRow::Uniform)
      for (int64_t j = 0; j < p.keys; ++j)
        sum += values[j * p.v.strides[1] + e * p.v.strides[3]];
    out[e * p.out.strides[4]] = p.emptyRow == EmptyRow::NaN ? __builtin_nanf("") : (float)(sum / (double)p.keys);
  }
}

} // namespace

void attention(const AttentionProblem &p, int64_t item, float *scratch) {
  int64_t blocks = (p.queries + blockQueries - 1) / blockQueries;
  int64_t begin = item % blocks * blockQueries;
  item /= blocks;
  int64_t g = item % p.groups, h = item / p.groups % p.kvHeads, b = item / p.groups / p.kvHeads;

  QueryBlock block;
  makeQueryBlock(p, begin, block);
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

  for (int64_t j = block.keyBegin; j < block.keyEnd; j += blockKeys) {
    int64_t n = least(blockKeys, block.keyEnd - j);
    product<false>(n, block.vectors, p.qkSize, keyRows(p.k, b, h, j), p.k.strides[1], p.k.strides[3], queries,
                   blockQueries, scores, blockQueries);
    adjustScores(p, block, b, j, n, scores);
    stepSoftmax(block, n, p.vSize, scores, sums, state);
    product<true>(p.vSize, block.vectors, n, keyRows(p.v, b, h, j), p.v.strides[3], p.v.strides[1], scores,
                  blockQueries, sums, blockQueries);
  }

  for (int64_t v = 0; v < block.vectors; ++v) {
    Floats inverse = 1.0f / load(state.sum + v * lanes);
    for (int64_t e = 0; e < p.vSize; ++e) {
      float *o = sums + e * blockQueries + v * lanes;
      store(o, load(o) * inverse);
    }
  }
  unpackTransposed(sums, block.count, p.vSize, 1.0f, queryRows(p.out, b, h, g, begin), p.out.strides[1],
                   p.out.strides[4]);
  const AttentionTensor &lse = p.lse;
  float *row = lse.data + b * lse.strides[0] + h * lse.strides[1] + g * lse.strides[2] + begin * lse.strides[3];
  for (int64_t i = 0; i < block.count; ++i) {
    bool empty = state.sum[i] == 0;
    row[i * lse.strides[3]] = empty ? infinity : (float)(state.largest[i] + log((double)state.sum[i]));
    if (empty)
      writeEmptyRow(p, b, h, queryRows(p.out, b, h, g, begin + i));
  }
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
