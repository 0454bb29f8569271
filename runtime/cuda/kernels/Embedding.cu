//===- Embedding.cu - Lookup of table rows and its gradient
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Device.h"
#include "runtime/cuda/kernels/Embedding.h"
#include "runtime/cuda/kernels/Sort.h"

using namespace dtcc::rt::cuda;

namespace {

template <typename Unit> DTCC_DEVICE void lookUp(const EmbeddingLookup &p) {
  for (int64_t i = blockX(); i < p.rows; i += blocksX()) {
    const int64_t row = p.ids[i] - p.offset;
    const bool here = row >= 0 && row < p.tableRows;
    const Unit *from = static_cast<const Unit *>(p.table.data) + row * p.table.rowStride;
    Unit *to = static_cast<Unit *>(p.out.data) + i * p.out.rowStride;
    for (int64_t c = threadIndex(); c < p.columns; c += embeddingThreads)
      if (here)
        to[c * p.out.columnStride] = from[c * p.table.columnStride];
      else
        to[c * p.out.columnStride] = {};
  }
}

template <typename T> DTCC_DEVICE void addRows(const ScatterAdd &p) {
  const int64_t place = blockX(), key = sortKey(p, p.order[place]);
  if (key == p.keys || (place > 0 && sortKey(p, p.order[place - 1]) == key))
    return;
  int64_t last = place + 1;
  while (last < p.rows && sortKey(p, p.order[last]) == key)
    ++last;
  const T *dout = static_cast<const T *>(p.dout.data);
  float *to = static_cast<float *>(p.dtable.data) + key * p.dtable.rowStride;
  for (int64_t c = threadIndex(); c < p.columns; c += embeddingThreads) {
    float sum = to[c * p.dtable.columnStride];
    const T *column = dout + c * p.dout.columnStride;
    for (int64_t i = place; i < last; ++i)
      sum += static_cast<float>(column[p.order[i] * p.dout.rowStride]);
    to[c * p.dtable.columnStride] = sum;
  }
}

} // namespace

DTCC_KERNEL(embedding_2, EmbeddingLookup, embeddingThreads) { lookUp<uint16_t>(p); }
DTCC_KERNEL(embedding_4, EmbeddingLookup, embeddingThreads) { lookUp<uint32_t>(p); }
DTCC_KERNEL(embedding_16, EmbeddingLookup, embeddingThreads) { lookUp<Unit16>(p); }

// A block reads a few numbers one after the other before it works: many wait at once.
DTCC_KERNEL_BLOCKS(scatter_add_f32, ScatterAdd, embeddingThreads, 16) { addRows<float>(p); }
DTCC_KERNEL_BLOCKS(scatter_add_bf16, ScatterAdd, embeddingThreads, 16) { addRows<__bf16>(p); }
DTCC_KERNEL_BLOCKS(scatter_add_f16, ScatterAdd, embeddingThreads, 16) { addRows<_Float16>(p); }
