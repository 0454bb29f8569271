//===- AttentionRows.cu - What attention's gradients do row by row
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/attention/AttentionTiles.h"

using namespace dtcc::rt::cuda;

// A warp a row.
DTCC_KERNEL(attention_dots, Attention, attentionRowThreads) {
  const int64_t row = blockX() * (attentionRowThreads / warpSize) + warp();
  if (row >= p.batch * p.kvHeads * p.groups * p.queries)
    return;
  const int64_t i = row % p.queries, heads = row / p.queries;
  const Head head = {heads / (p.kvHeads * p.groups), heads / p.groups % p.kvHeads, heads % p.groups};
  float sum = 0;
  // A query that sees no key may hold NaN.
  if (loadLse(p, head, i) != infinity)
    for (int64_t e = lane(); e < p.vSize; e += warpSize)
      sum += loadCell(p.out, queryOffset(p.out, head, i) + e * p.out.strides[4]) *
             loadCell(p.dout, queryOffset(p.dout, head, i) + e * p.dout.strides[4]);
  for (int mask = warpSize / 2; mask > 0; mask /= 2)
    sum += exchange(sum, mask);
  if (lane() == 0)
    p.dots[row] = sum;
}

// Queries that see no key: the mean of all values passes its gradient to them, after the kernels below. A block a
// head of keys.
DTCC_KERNEL(attention_empty_rows, Attention, attentionRowThreads) {
  Head head = {blockX() / p.kvHeads, blockX() % p.kvHeads, 0};
  const float share = 1.0f / static_cast<float>(p.keys + p.keysElsewhere);
  bool any = false;
  for (int64_t e = threadIndex(); e < largest(p.vSize, p.qkSize); e += attentionRowThreads) {
    float sum = 0;
    for (head.g = 0; head.g < p.groups; ++head.g)
      for (int64_t i = 0; i < p.queries; ++i)
        if (loadLse(p, head, i) == infinity) {
          any = true;
          if (e < p.vSize)
            sum += loadCell(p.dout, queryOffset(p.dout, head, i) + e * p.dout.strides[4]) * share;
        }
    if (!any)
      return;
    const bool isNaN = p.emptyRow == 2;
    for (int64_t j = 0; j < p.keys; ++j) {
      if (e < p.vSize) {
        int64_t cell = keyOffset(p.dv, head, j) + e * p.dv.strides[3];
        storeCell(p.dv, cell, isNaN ? __builtin_nanf("") : loadCell(p.dv, cell) + sum);
      }
      if (isNaN && e < p.qkSize)
        storeCell(p.dk, keyOffset(p.dk, head, j) + e * p.dk.strides[3], __builtin_nanf(""));
    }
  }
}
