//===- Sort.cu - Row numbers sorted by id
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Device.h"
#include "runtime/cuda/kernels/rows/Sort.h"

using namespace dtcc::rt::cuda;

namespace {

/// Reads the digits of the block's tile, and its row numbers to `rows` unless that is null. Returns the number of rows.
DTCC_DEVICE int loadDigits(const SortPass &p, uint8_t *digits, int32_t *rows) {
  int64_t first = blockX() * sortTile, left = p.rows - first;
  int count = static_cast<int>(left < sortTile ? left : sortTile);
  for (int i = threadIndex(); i < count; i += sortDigits) {
    const int32_t row = p.from ? p.from[first + i] : static_cast<int32_t>(first + i);
    digits[i] = static_cast<uint8_t>(sortKey(p, row) >> p.shift);
    if (rows)
      rows[i] = row;
  }
  synchronize();
  return count;
}

} // namespace

DTCC_KERNEL(sort_count, SortPass, sortDigits) {
  DTCC_SHARED uint8_t digits[sortTile];
  int count = loadDigits(p, digits, nullptr), mine = 0;
  for (int i = 0; i < count; ++i)
    mine += digits[i] == threadIndex();
  p.counts[blockX() * sortDigits + threadIndex()] = mine;
}

DTCC_KERNEL(sort_offsets, SortPass, sortDigits) {
  DTCC_SHARED int32_t totals[sortDigits];
  int32_t total = 0;
  for (int64_t tile = 0; tile < p.tiles; ++tile)
    total += p.counts[tile * sortDigits + threadIndex()];
  totals[threadIndex()] = total;
  synchronize();
  int32_t place = 0;
  for (int digit = 0; digit < threadIndex(); ++digit)
    place += totals[digit];
  // Counts are read some at a time: a thread that stores a place before it reads the next count waits for every one.
  constexpr int batch = 16;
  for (int64_t tile = 0; tile < p.tiles; tile += batch) {
    int32_t *counts = p.counts + tile * sortDigits + threadIndex(), here[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i)
      here[i] = tile + i < p.tiles ? counts[i * sortDigits] : 0;
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (tile + i < p.tiles)
        counts[i * sortDigits] = place;
      place += here[i];
    }
  }
}

DTCC_KERNEL(sort_scatter, SortPass, sortDigits) {
  // A thread whose digit many rows have must not wait for the memory of each.
  DTCC_SHARED uint8_t digits[sortTile];
  DTCC_SHARED int32_t rows[sortTile];
  int count = loadDigits(p, digits, rows);
  int32_t place = p.counts[blockX() * sortDigits + threadIndex()];
  for (int i = 0; i < count; ++i)
    if (digits[i] == threadIndex())
      p.to[place++] = rows[i];
}

DTCC_KERNEL(sort_bounds, SortBounds, sortDigits) {
  // A place whose key is larger than the one before begins that key, and all that nobody has between.
  int64_t place = blockX() * sortDigits + threadIndex();
  if (place > p.rows)
    return;
  int64_t before = place == 0 ? -1 : sortKey(p, p.order[place - 1]);
  int64_t here = place == p.rows ? p.keys : sortKey(p, p.order[place]);
  for (int64_t key = before + 1; key <= here; ++key)
    p.begin[key] = static_cast<int32_t>(place);
}
