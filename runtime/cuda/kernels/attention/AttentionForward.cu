//===- AttentionForward.cu - Softmax(q k^T) v by tiles
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Online softmax (Milakov and Gimelshein 2018; FlashAttention 2, Dao 2023): the sums of a
// row are those of all keys so far, over the exponential of the largest score so far.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/attention/AttentionTiles.h"

namespace dtcc::rt::cuda {
namespace {

template <int size> DTCC_DEVICE void forward(const Attention &p) {
  const int d = static_cast<int>(p.qkSize), e = static_cast<int>(p.vSize);
  float *queries = reinterpret_cast<float *>(dynamicShared); // [tile, d]
  float *others = queries + attentionTile * attentionRowFloats(d);
  float *weights = others + attentionTile * attentionRowFloats(largest(d, e)); // [tile, tile]
  const int64_t tiles = (p.queries + attentionTile - 1) / attentionTile, item = blockX();
  // Late queries see most under a causal mask: they start first.
  const int64_t first = (tiles - 1 - item % tiles) * attentionTile, heads = item / tiles;
  const Head head = {heads / (p.kvHeads * p.groups), heads / p.groups % p.kvHeads, heads % p.groups};
  const RowThread<size> me;
  const int64_t i = first + me.row;
  const bool exists = i < p.queries;

  const HeadRows k = keyRows(p, p.k, head, d), v = keyRows(p, p.v, head, e), out = queryRows(p, p.out, head, e);

  loadTile(queryRows(p, p.q, head, d), first, queries);
  float top = -infinity, sum = 0, sums[RowThread<size>::cells] = {};
  if (p.continues) {
    // out is normalised: the keys before count as one of score lse.
    loadTile(out, first, others);
    synchronize();
    if (float before = exists ? loadLse(p, head, i) : infinity; before != infinity) {
      top = before, sum = 1;
      me.take(others, e, sums);
    }
  }
  const int64_t lower = lowerKey(p, i), upper = upperKey(p, i);
  const int64_t end = upperKey(p, least(first + attentionTile, p.queries) - 1) + 1;
  for (int64_t begin = lowerKey(p, first) / attentionTile * attentionTile; begin < end; begin += attentionTile) {
    synchronize();
    loadTile(k, begin, others);
    synchronize();
    float scores[RowThread<size>::scores], here = top;
    me.products(queries, others, d, scores);
#pragma unroll
    for (int x = 0; x < RowThread<size>::scores; ++x) {
      int64_t j = begin + me.column(x);
      float score = scores[x] * innerScale(p);
      if (p.softcap > 0)
        score = hyperbolicTangent(score) * p.softcap;
      const bool sees =
          exists && j >= lower && j <= upper && keyAllowed(p, head.b, j) && sharesSegment(p, head.b, i, j);
      scores[x] = sees ? score : -infinity;
      here = largest(here, scores[x]);
    }
    for (int mask = RowThread<size>::threads / 2; mask > 0; mask /= 2)
      here = largest(here, exchange(here, mask));
    // A query that has seen no key yet: any finite shift gives exp(-inf) = 0.
    const float shift = here == -infinity ? 0 : here, factor = exponential(top - shift);
    float added = 0;
#pragma unroll
    for (int x = 0; x < RowThread<size>::scores; ++x) {
      float weight = exponential(scores[x] - shift);
      weights[me.row * (attentionTile + 1) + me.column(x)] = weight;
      added += weight;
    }
    for (int mask = RowThread<size>::threads / 2; mask > 0; mask /= 2)
      added += exchange(added, mask);
    top = here;
    sum = sum * factor + added;
#pragma unroll
    for (float &cell : sums)
      cell *= factor;
    synchronize();
    loadTile(v, begin, others);
    synchronize();
    me.addProducts(weights, others, e, sums);
  }

  const bool empty = sum == 0;
  synchronize();
  me.put(sums, 1 / sum, e, others);
  if (empty && exists)
#pragma unroll 1
    for (int column = me.part; column < e; column += RowThread<size>::threads) {
      float before = p.continues ? loadCell(p.out, out.base + i * out.row + column * out.column) : 0;
      others[me.row * attentionRowFloats(e) + column] = emptyCell(p, head, column, before);
    }
  synchronize();
  storeTile(others, out, first, false);
  if (me.part == 0 && exists) {
    *lseCell(p, head, i) = empty ? infinity : static_cast<float>(top + logarithm(sum));
  }
}

} // namespace
} // namespace dtcc::rt::cuda

using namespace dtcc::rt::cuda;

DTCC_KERNEL(attention_forward, Attention, attentionThreads(DTCC_SIZE)) { forward<DTCC_SIZE>(p); }
