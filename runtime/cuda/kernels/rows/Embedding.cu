//===- Embedding.cu - Lookup of table rows and its gradient
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Device.h"
#include "runtime/cuda/kernels/rows/Embedding.h"
#include "runtime/cuda/kernels/rows/Sort.h"

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

/// Adds up the rows of the block's segments. The first level reads rows in the order of their keys; a later level (`T`
/// is float) reads the partial sums of the level before, some of which are absent.
template <typename T, bool isFirst> DTCC_DEVICE void addRows(const ScatterAdd &p) {
  const int segments = embeddingThreads >> p.widthBits, places = segments * p.segment;
  const auto none = static_cast<int32_t>(p.keys);
  const int64_t first = blockX() * places;
  // Keys of the block's places and of the places before and behind them, and rows of the block's places: -1 if a row is
  // absent. Places beyond the last row have the key of rows in no group.
  int32_t *keys = reinterpret_cast<int32_t *>(dynamicShared) + 1, *rows = keys + places + 1;
  for (int i = threadIndex() - 1; i <= places; i += embeddingThreads) {
    const int64_t place = first + i;
    int32_t key = none, row = -1;
    if (place >= 0 && place < p.rows) {
      if constexpr (isFirst) {
        row = p.order[place];
        key = static_cast<int32_t>(sortKey(p, row));
      } else {
        key = p.rowKeys[place];
        row = key < 0 ? -1 : static_cast<int32_t>(place);
        key = key < 0 ? ~key : key;
      }
    }
    keys[i] = key;
    if (i >= 0 && i < places)
      rows[i] = row;
  }
  synchronize();

  const int own = threadIndex() >> p.widthBits;
  const int64_t number = blockX() * segments + own;
  const int64_t column = (blockY() << p.widthBits) + (threadIndex() & ((1 << p.widthBits) - 1));
  if (number * p.segment >= p.rows || column >= p.columns)
    return;
  keys += own * p.segment, rows += own * p.segment;
  // Keys are sorted: the run of a key reaches beyond the segment exactly if a neighbour of the segment has that key. If
  // a place of the segment is of no group, so is the neighbour behind.
  const int32_t before = keys[-1], behind = keys[p.segment];
  const T *from = static_cast<const T *>(p.dout.data) + column * p.dout.columnStride;
  float *to = static_cast<float *>(p.dtable.data) + column * p.dtable.columnStride;
  float sum = 0;
  bool isPresent = true;
  int32_t last = none;
  for (int at = 0; at < p.segment && keys[at] != none; at += scatterBatch) {
    // A batch's loads are under way together, those of the table's cells too. An absent row is read as row 0, and not
    // used.
    T cells[scatterBatch];
    float held[scatterBatch];
#pragma unroll
    for (int j = 0; j < scatterBatch; ++j) {
      const int32_t key = keys[at + j], row = rows[at + j];
      const bool begins = key != keys[at + j - 1];
      cells[j] = from[(row < 0 ? 0 : row) * p.dout.rowStride];
      held[j] = row >= 0 && begins && key != before && key != behind ? to[key * p.dtable.rowStride] : 0;
    }
#pragma unroll
    for (int j = 0; j < scatterBatch; ++j) {
      const int32_t key = keys[at + j];
      if (key == none)
        continue;
      if (key != keys[at + j - 1]) {
        sum = held[j];
        // The first place of a run that has partial sums at all has one.
        isPresent = isFirst || rows[at + j] >= 0;
      }
      if (isFirst || rows[at + j] >= 0)
        sum += static_cast<float>(cells[j]);
      last = key;
      if (at + j + 1 < p.segment && keys[at + j + 1] == key)
        continue;
      if (key == before || key == behind)
        p.parts[(2 * number + (key != keys[0])) * p.columns + column] = sum;
      else if (isPresent)
        to[key * p.dtable.rowStride] = sum;
    }
  }
  if (column != 0 || !p.partKeys)
    return;
  const int32_t head = keys[0];
  const bool hasHead = head != none && (head == before || head == behind);
  const bool hasTail = last != none && last != head && last == behind;
  p.partKeys[2 * number] = hasHead ? head : ~head;
  p.partKeys[2 * number + 1] = hasTail ? last : ~last;
}

} // namespace

DTCC_KERNEL(embedding_2, EmbeddingLookup, embeddingThreads) { lookUp<uint16_t>(p); }
DTCC_KERNEL(embedding_4, EmbeddingLookup, embeddingThreads) { lookUp<uint32_t>(p); }
DTCC_KERNEL(embedding_16, EmbeddingLookup, embeddingThreads) { lookUp<Unit16>(p); }

// Registers hold a batch of rows and of the table's cells with their addresses: a multiprocessor has room for few
// blocks.
DTCC_KERNEL_BLOCKS(scatter_add_f32, ScatterAdd, embeddingThreads, 7) { addRows<float, true>(p); }
DTCC_KERNEL_BLOCKS(scatter_add_bf16, ScatterAdd, embeddingThreads, 7) { addRows<__bf16, true>(p); }
DTCC_KERNEL_BLOCKS(scatter_add_f16, ScatterAdd, embeddingThreads, 7) { addRows<_Float16, true>(p); }
DTCC_KERNEL_BLOCKS(scatter_add_parts, ScatterAdd, embeddingThreads, 6) { addRows<float, false>(p); }
