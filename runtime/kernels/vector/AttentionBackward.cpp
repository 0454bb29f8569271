//===- AttentionBackward.cpp - Gradients of attention by blocks -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With P = exp(score - lse), D = rowsum(dout * out):
//   dv = P^T dout,  dS = P * (dout v^T - D),  dq = scale dS k,  dk = scale dS^T q
// (FlashAttention 2, Dao 2023, algorithm 2). Blocks of scores are recomputed.
// Sums over keys run in ascending key blocks and sums over queries in ascending
// (group, query block) order, whatever ranges a call is given: cutting the work
// in other ways gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/AttentionBlocks.h"

#include "runtime/kernels/vector/Table.h"

namespace dtcc::rt::DTCC_SIMD_LEVEL {
namespace {

/// A matrix whose rows are contiguous and padded to whole vectors.
struct Rows {
  const float *data;
  int64_t stride;
};

struct Scratch {
  float *queries, *douts, *dqs; // [size][query]
  float *weights, *grads;       // [key][query]: P and dS
  float *tile;                  // [key][size]
  float *queryCopy, *doutCopy;  // [query][size]
  float lse[blockQueries], dot[blockQueries];
};

void carve(const AttentionProblem &p, float *memory, Scratch &s) {
  int64_t d = roundUp(p.qkSize, lanes), e = roundUp(p.vSize, lanes);
  s.queries = memory;
  s.douts = s.queries + d * blockQueries;
  s.dqs = s.douts + e * blockQueries;
  s.weights = s.dqs + d * blockQueries;
  s.grads = s.weights + blockKeys * blockQueries;
  s.tile = s.grads + blockKeys * blockQueries;
  s.queryCopy = s.tile + blockKeys * largest(d, e);
  s.doutCopy = s.queryCopy + blockQueries * d;
}

/// The rows themselves if they can be read as whole vectors, else a padded copy.
Rows vectorRows(const float *from, int64_t rowStride, int64_t columnStride, int64_t rows, int64_t columns,
                float *copy) {
  if (columnStride == 1 && columns % lanes == 0)
    return {from, rowStride};
  int64_t padded = roundUp(columns, lanes);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      copy[r * padded + c] = from[r * rowStride + c * columnStride];
    for (int64_t c = columns; c < padded; ++c)
      copy[r * padded + c] = 0;
  }
  return {copy, padded};
}

/// to[r, c] += scale * tile[r][c].
void addTile(const float *tile, int64_t tileRow, int64_t rows, int64_t columns, float scale, float *to,
             int64_t rowStride, int64_t columnStride) {
  for (int64_t r = 0; r < rows; ++r) {
    const float *source = tile + r * tileRow;
    float *target = to + r * rowStride;
    int64_t c = 0;
    if (columnStride == 1)
      for (; c + lanes <= columns; c += lanes)
        store(target + c, load(source + c) * scale + load(target + c));
    for (; c < columns; ++c)
      target[c * columnStride] = source[c] * scale + target[c * columnStride];
  }
}

void fillRows(float *to, int64_t rows, int64_t rowStride, int64_t columns, int64_t columnStride, float value) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      to[r * rowStride + c * columnStride] = value;
}

/// to[r, c] += scale * from[c][r].
void addTransposed(const float *from, int64_t rows, int64_t columns, float scale, float *to, int64_t rowStride,
                   int64_t columnStride) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      to[r * rowStride + c * columnStride] += scale * from[c * blockQueries + r];
}

/// lse and rowsum(dout * out) of the block's queries; lanes past them get P = 0.
void loadRowTerms(const AttentionProblem &p, const QueryBlock &block, int64_t b, int64_t h, int64_t g, Scratch &s) {
  const AttentionTensor &lse = p.lse;
  const float *row =
      lse.data + b * lse.strides[0] + h * lse.strides[1] + g * lse.strides[2] + block.begin * lse.strides[3];
  for (int64_t i = 0; i < blockQueries; ++i) {
    s.lse[i] = infinity, s.dot[i] = 0;
    if (i >= block.count || row[i * lse.strides[3]] == infinity)
      continue;
    s.lse[i] = row[i * lse.strides[3]];
    const float *out = queryRows(p.out, b, h, g, block.begin + i);
    const float *dout = queryRows(p.dout, b, h, g, block.begin + i);
    int64_t e = 0;
    Floats sum = broadcast(0.0f);
    if (p.out.strides[4] == 1 && p.dout.strides[4] == 1)
      for (; e + lanes <= p.vSize; e += lanes)
        sum = load(out + e) * load(dout + e) + sum;
    float dot = horizontalSum(sum);
    for (; e < p.vSize; ++e)
      dot += out[e * p.out.strides[4]] * dout[e * p.dout.strides[4]];
    s.dot[i] = dot;
  }
}

/// From scores and dout.v to P and dS (before the factor `scale`), in place.
void differentiateSoftmax(const AttentionProblem &p, const QueryBlock &block, const KeySpans &spans, int64_t b,
                          int64_t begin, Scratch &s) {
  for (int x = 0; x < spans.count; ++x) {
    auto [first, last, vector] = spans.spans[x];
    bool everywhere = allSee(block, begin + first, begin + last);
    for (int64_t j = first; j < last; ++j) {
      bool allowed = keyAllowed(p, b, begin + j);
      for (int64_t v = vector; v < block.vectors; ++v) {
        float *weight = s.weights + j * blockQueries + v * lanes, *grad = s.grads + j * blockQueries + v * lanes;
        Floats score = load(weight), slope = broadcast(1.0f);
        if (p.softcap > 0) {
          Floats bounded = hyperbolicTangent(score);
          slope = 1.0f - bounded * bounded;
          score = bounded * p.softcap;
        }
        Floats w = exponential(score - load(s.lse + v * lanes));
        if (!allowed || !everywhere)
          w = select(allowed ? sees(p, block, b, v, begin + j) : Ints(0), w, broadcast(0.0f));
        store(weight, w);
        store(grad, w * (load(grad) - load(s.dot + v * lanes)) * slope);
      }
    }
  }
}

/// tile[key][c] = sum over the block's queries of weights[key][query] * rows[query][c].
void sumOverQueries(const float *weights, const QueryBlock &block, const KeySpans &spans, const Rows &rows,
                    int64_t columns, float *tile) {
  int64_t stride = roundUp(columns, lanes);
  for (int x = 0; x < spans.count; ++x) {
    auto [first, last, vector] = spans.spans[x];
    int64_t from = vector * lanes;
    product<false>(last - first, stride / lanes, largest(block.count - from, 0), weights + first * blockQueries + from,
                   blockQueries, 1, rows.data + from * rows.stride, rows.stride, tile + first * stride, stride);
  }
}

/// Queries that see no key: the mean of all values passes its gradient to them.
void addEmptyRows(const AttentionProblem &p, const QueryBlock &block, int64_t b, int64_t h, int64_t g, int64_t keyBegin,
                  int64_t keyEnd, bool queryGradients, bool keyGradients) {
  if (p.emptyRow == EmptyRow::Zero)
    return;
  const float nan = __builtin_nanf("");
  const AttentionTensor &lse = p.lse;
  for (int64_t i = block.begin; i < block.begin + block.count; ++i) {
    if (lse.data[b * lse.strides[0] + h * lse.strides[1] + g * lse.strides[2] + i * lse.strides[3]] != infinity)
      continue;
    bool uniform = p.emptyRow == EmptyRow::Uniform;
    if (queryGradients && !uniform)
      fillRows(queryRows(p.dq, b, h, g, i), 1, 0, p.qkSize, p.dq.strides[4], nan);
    if (!keyGradients)
      continue;
    const float *dout = queryRows(p.dout, b, h, g, i);
    for (int64_t j = keyBegin; j < keyEnd; ++j) {
      float *dv = keyRows(p.dv, b, h, j);
      for (int64_t e = 0; e < p.vSize; ++e)
        dv[e * p.dv.strides[3]] += uniform ? dout[e * p.dout.strides[4]] / (float)(p.keys + p.keysElsewhere) : nan;
    }
    if (!uniform)
      fillRows(keyRows(p.dk, b, h, keyBegin), keyEnd - keyBegin, p.dk.strides[1], p.qkSize, p.dk.strides[3], nan);
  }
}

} // namespace

void attentionGrad(const AttentionProblem &p, int64_t b, int64_t h, int64_t queryBegin, int64_t queryEnd,
                   int64_t keyBegin, int64_t keyEnd, bool queryGradients, bool keyGradients, float *memory) {
  Scratch s;
  carve(p, memory, s);
  if (keyGradients && !p.continues) {
    fillRows(keyRows(p.dk, b, h, keyBegin), keyEnd - keyBegin, p.dk.strides[1], p.qkSize, p.dk.strides[3], 0);
    fillRows(keyRows(p.dv, b, h, keyBegin), keyEnd - keyBegin, p.dv.strides[1], p.vSize, p.dv.strides[3], 0);
  }
  const int64_t q1 = p.q.strides[1], q4 = p.q.strides[4], o1 = p.dout.strides[1], o4 = p.dout.strides[4];
  const int64_t dTile = roundUp(p.qkSize, lanes), eTile = roundUp(p.vSize, lanes);
  QueryBlock block;
  for (int64_t g = 0; g < p.groups; ++g)
    for (int64_t i = queryBegin; i < queryEnd; i += blockQueries) {
      makeQueryBlock(p, b, i, block);
      // Key blocks start at multiples of their size, so that ranges do not move them.
      int64_t first = largest(block.keyBegin / blockKeys * blockKeys, keyBegin), last = least(block.keyEnd, keyEnd);
      if (first < last || (queryGradients && !p.continues)) {
        const float *q = queryRows(p.q, b, h, g, i), *dout = queryRows(p.dout, b, h, g, i);
        packTransposed(q, q1, q4, block.count, p.qkSize, block.vectors, innerScale(p), s.queries);
        packTransposed(dout, o1, o4, block.count, p.vSize, block.vectors, 1.0f, s.douts);
        Rows qRows = vectorRows(q, q1, q4, block.count, p.qkSize, s.queryCopy);
        Rows doutRows = vectorRows(dout, o1, o4, block.count, p.vSize, s.doutCopy);
        loadRowTerms(p, block, b, h, g, s);
        if (queryGradients)
          for (int64_t x = 0; x < p.qkSize * blockQueries; ++x)
            s.dqs[x] = 0;
        for (int64_t j = first; j < last; j += blockKeys) {
          int64_t n = least(blockKeys, last - j);
          const float *k = keyRows(p.k, b, h, j), *v = keyRows(p.v, b, h, j);
          const KeySpans spans = makeKeySpans(block, j, n);
          for (int x = 0; x < spans.count; ++x) {
            auto [low, high, from] = spans.spans[x];
            int64_t at = low * blockQueries + from * lanes;
            product<false>(high - low, block.vectors - from, p.qkSize, k + low * p.k.strides[1], p.k.strides[1],
                           p.k.strides[3], s.queries + from * lanes, blockQueries, s.weights + at, blockQueries);
            product<false>(high - low, block.vectors - from, p.vSize, v + low * p.v.strides[1], p.v.strides[1],
                           p.v.strides[3], s.douts + from * lanes, blockQueries, s.grads + at, blockQueries);
          }
          differentiateSoftmax(p, block, spans, b, j, s);
          if (keyGradients) {
            sumOverQueries(s.weights, block, spans, doutRows, p.vSize, s.tile);
            addTile(s.tile, eTile, n, p.vSize, 1.0f, keyRows(p.dv, b, h, j), p.dv.strides[1], p.dv.strides[3]);
            sumOverQueries(s.grads, block, spans, qRows, p.qkSize, s.tile);
            addTile(s.tile, dTile, n, p.qkSize, p.scale, keyRows(p.dk, b, h, j), p.dk.strides[1], p.dk.strides[3]);
          }
          for (int x = 0; queryGradients && x < spans.count; ++x) {
            auto [low, high, from] = spans.spans[x];
            product<true>(p.qkSize, block.vectors - from, high - low, k + low * p.k.strides[1], p.k.strides[3],
                          p.k.strides[1], s.grads + low * blockQueries + from * lanes, blockQueries,
                          s.dqs + from * lanes, blockQueries);
          }
        }
        if (queryGradients && p.continues)
          addTransposed(s.dqs, block.count, p.qkSize, p.scale, queryRows(p.dq, b, h, g, i), p.dq.strides[1],
                        p.dq.strides[4]);
        else if (queryGradients)
          unpackTransposed(s.dqs, block.count, p.qkSize, p.scale, queryRows(p.dq, b, h, g, i), p.dq.strides[1],
                           p.dq.strides[4]);
      }
      addEmptyRows(p, block, b, h, g, keyBegin, keyEnd, queryGradients, keyGradients);
    }
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
