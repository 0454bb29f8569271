//===- AttentionBackward.cu - Gradients of attention by tiles
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With P = exp(score - lse), D = rowsum(dout * out):
//   dv = P^T dout,  dS = P * (dout v^T - D),  dq = scale dS k,  dk = scale dS^T q
// (FlashAttention 2, Dao 2023, algorithm 2), scores recomputed. One kernel has the
// queries as its rows and one the keys, so that nobody adds to what another block holds:
// the sums run in ascending order, and give the same bits in every run.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/attention/AttentionTiles.h"

namespace dtcc::rt::cuda {
namespace {

/// Shared memory of a block.
struct Tiles {
  float *q, *k, *dout, *v, *weights, *grads;
  DTCC_DEVICE explicit Tiles(const Attention &p) {
    q = reinterpret_cast<float *>(dynamicShared);
    k = q + attentionTile * attentionRowFloats(p.qkSize);
    dout = k + attentionTile * attentionRowFloats(p.qkSize);
    v = dout + attentionTile * attentionRowFloats(p.vSize);
    weights = v + attentionTile * attentionRowFloats(p.vSize); // P, [own rows, others]
    grads = weights + attentionTile * (attentionTile + 1);     // dS before the factor `scale`
  }
};

/// P and dS of one pair from q.k and dout.v.
DTCC_DEVICE void differentiate(const Attention &p, bool sees, float product, float dproduct, float lse, float dot,
                               float &weight, float &grad) {
  float score = product * innerScale(p), slope = 1;
  if (p.softcap > 0) {
    float bounded = hyperbolicTangent(score);
    slope = 1 - bounded * bounded;
    score = bounded * p.softcap;
  }
  weight = sees ? exponential(score - lse) : 0.0f;
  grad = sees ? weight * (dproduct - dot) * slope : 0.0f;
}

DTCC_DEVICE bool sees(const Attention &p, const Head &head, int64_t i, int64_t j) {
  return i < p.queries && j >= lowerKey(p, i) && j <= upperKey(p, i) && keyAllowed(p, head.b, j) &&
         sharesSegment(p, head.b, i, j);
}

template <int size> DTCC_DEVICE void queryGradients(const Attention &p) {
  const Tiles s(p);
  const int d = static_cast<int>(p.qkSize), e = static_cast<int>(p.vSize);
  const int64_t tiles = (p.queries + attentionTile - 1) / attentionTile, item = blockX();
  const int64_t first = (tiles - 1 - item % tiles) * attentionTile, heads = item / tiles;
  const Head head = {heads / (p.kvHeads * p.groups), heads / p.groups % p.kvHeads, heads % p.groups};
  const RowThread<size> me;
  const int64_t i = first + me.row;
  const float lse = i < p.queries ? loadLse(p, head, i) : infinity;
  const float dot = i < p.queries ? p.dots[dotOffset(p, head, i)] : 0;
  float sums[RowThread<size>::cells] = {};
  const HeadRows k = keyRows(p, p.k, head, d), v = keyRows(p, p.v, head, e);
  loadTile(queryRows(p, p.q, head, d), first, s.q);
  loadTile(queryRows(p, p.dout, head, e), first, s.dout);
  const int64_t end = upperKey(p, least(first + attentionTile, p.queries) - 1) + 1;
  for (int64_t begin = lowerKey(p, first) / attentionTile * attentionTile; begin < end; begin += attentionTile) {
    synchronize();
    loadTile(k, begin, s.k);
    loadTile(v, begin, s.v);
    synchronize();
    float products[RowThread<size>::scores], dproducts[RowThread<size>::scores];
    me.products(s.q, s.k, d, products);
    me.products(s.dout, s.v, e, dproducts);
#pragma unroll
    for (int x = 0; x < RowThread<size>::scores; ++x) {
      float weight, grad;
      differentiate(p, sees(p, head, i, begin + me.column(x)), products[x], dproducts[x], lse, dot, weight, grad);
      s.grads[me.row * (attentionTile + 1) + me.column(x)] = grad;
    }
    synchronize();
    me.addProducts(s.grads, s.k, d, sums);
  }
  synchronize();
  me.put(sums, lse == infinity && p.emptyRow == 2 ? __builtin_nanf("") : p.scale, d, s.q);
  synchronize();
  storeTile(s.q, queryRows(p, p.dq, head, d), first, p.continues);
}

template <int size> DTCC_DEVICE void keyGradients(const Attention &p) {
  const Tiles s(p);
  const int d = static_cast<int>(p.qkSize), e = static_cast<int>(p.vSize);
  const int64_t tiles = (p.keys + attentionTile - 1) / attentionTile, item = blockX();
  const int64_t first = item % tiles * attentionTile, heads = item / tiles;
  Head head = {heads / p.kvHeads, heads % p.kvHeads, 0};
  const RowThread<size> me;
  const int64_t j = first + me.row, last = least(first + attentionTile, p.keys) - 1;
  float dk[RowThread<size>::cells] = {}, dv[RowThread<size>::cells] = {};
  loadTile(keyRows(p, p.k, head, d), first, s.k);
  loadTile(keyRows(p, p.v, head, e), first, s.v);
  for (head.g = 0; head.g < p.groups; ++head.g)
    for (int64_t begin = 0; begin < p.queries; begin += attentionTile) {
      const int64_t end = least(begin + attentionTile, p.queries) - 1;
      if (upperKey(p, end) < first || lowerKey(p, begin) > last)
        continue;
      synchronize();
      loadTile(queryRows(p, p.q, head, d), begin, s.q);
      loadTile(queryRows(p, p.dout, head, e), begin, s.dout);
      synchronize();
      float products[RowThread<size>::scores], dproducts[RowThread<size>::scores];
      me.products(s.k, s.q, d, products);
      me.products(s.v, s.dout, e, dproducts);
#pragma unroll
      for (int x = 0; x < RowThread<size>::scores; ++x) {
        const int64_t i = begin + me.column(x);
        const bool pair = j < p.keys && sees(p, head, i, j);
        const float lse = pair ? loadLse(p, head, i) : infinity, dot = pair ? p.dots[dotOffset(p, head, i)] : 0;
        float weight, grad;
        differentiate(p, pair, products[x], dproducts[x], lse, dot, weight, grad);
        s.weights[me.row * (attentionTile + 1) + me.column(x)] = weight;
        s.grads[me.row * (attentionTile + 1) + me.column(x)] = grad;
      }
      synchronize();
      me.addProducts(s.weights, s.dout, e, dv);
      me.addProducts(s.grads, s.q, d, dk);
    }
  synchronize();
  me.put(dk, p.scale, d, s.k);
  me.put(dv, 1, e, s.v);
  synchronize();
  storeTile(s.k, keyRows(p, p.dk, head, d), first, p.continues);
  storeTile(s.v, keyRows(p, p.dv, head, e), first, p.continues);
}

} // namespace
} // namespace dtcc::rt::cuda

using namespace dtcc::rt::cuda;

DTCC_KERNEL(attention_queries, Attention, attentionThreads(DTCC_SIZE)) { queryGradients<DTCC_SIZE>(p); }
DTCC_KERNEL(attention_keys, Attention, attentionThreads(DTCC_SIZE)) { keyGradients<DTCC_SIZE>(p); }
