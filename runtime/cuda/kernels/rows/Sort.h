//===- Sort.h - Parameters of the kernels that sort ids
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows with the same id are summed in their order, without atomic additions: their
// numbers are sorted by id with a stable radix sort, 8 bits a pass.
//
//   sort_count    counts[tile, digit] of each tile of sortTile rows
//   sort_offsets  counts become places: before those of larger digits, then of later tiles
//   sort_scatter  row numbers to their places
//
// A thread of a block stands for a digit and walks the tile's rows in order: no order
// of the hardware can show. A row's key is its id less `offset`, or `keys` where that is
// out of [0, keys) or the id is the padding id: these come last.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_ROWS_SORT_H
#define DTCC_RUNTIME_CUDA_KERNELS_ROWS_SORT_H

#include "runtime/cuda/kernels/Vectors.h"

namespace dtcc::rt::cuda {

constexpr int sortDigits = 256, sortBits = 8, sortTile = 1024;

struct SortPass {
  Integers ids;
  int64_t rows, tiles, offset, keys;
  int64_t paddingId;   // or -1
  const int32_t *from; // row numbers in the order of the passes before; null: as they come
  int32_t *to;
  int32_t *counts; // [tiles, sortDigits]
  int32_t shift;   // of the pass's digit
};

/// sort_bounds: begin[key] = the first place of a key, for keys 0 to `keys` (whose rows are in none).
struct SortBounds {
  Integers ids;
  int64_t rows, offset, keys, paddingId;
  const int32_t *order;
  int32_t *begin; // [keys + 1]
};

#ifdef __CUDA__
template <typename Rows> __attribute__((device)) inline int64_t sortKey(const Rows &p, int64_t row) {
  int64_t id = p.ids[row], key = id - p.offset;
  return key < 0 || key >= p.keys || (p.paddingId >= 0 && id == p.paddingId) ? p.keys : key;
}
#endif

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_ROWS_SORT_H
