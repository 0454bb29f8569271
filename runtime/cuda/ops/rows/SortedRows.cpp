//===- SortedRows.cpp - Row numbers sorted by their ids, on the GPU
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ops/rows/SortedRows.h"

#include <limits>

namespace dtcc::rt::cuda {

SortedRows::SortedRows(const CheckedOperands &operands, int64_t rows, int64_t keys, Launcher &launcher,
                       WorkspaceLayout &layout)
    : rows(rows), keys(keys), tiles(partsOf(rows, sortTile)), count(launcher, "Sort", "sort_count"),
      offsets(launcher, "Sort", "sort_offsets"), scatter(launcher, "Sort", "sort_scatter") {
  if (rows > std::numeric_limits<int32_t>::max() || keys > std::numeric_limits<int32_t>::max())
    operands.reject("ids and the rows that they name must be below 2^31, got: ", std::max(rows, keys));
  // Keys go up to `keys`: that of rows in no group.
  do
    ++passes;
  while (keys >> (passes * sortBits));
  for (uint64_t &place : places)
    place = layout.take(rows * static_cast<int64_t>(sizeof(int32_t)));
  counts = layout.take(tiles * sortDigits * static_cast<int64_t>(sizeof(int32_t)));
}

void SortedRows::sort(const Call &call, const Integers &ids, int64_t offset, int64_t paddingId) const {
  if (rows == 0)
    return;
  SortPass p = {};
  p.ids = ids, p.rows = rows, p.tiles = tiles, p.offset = offset, p.keys = keys, p.paddingId = paddingId;
  p.counts = at<int32_t>(call, counts);
  for (int pass = 0; pass < passes; ++pass) {
    p.from = pass == 0 ? nullptr : at<int32_t>(call, places[pass % 2]);
    p.to = at<int32_t>(call, places[(pass + 1) % 2]);
    p.shift = pass * sortBits;
    count(call, tiles, sortDigits, p);
    offsets(call, 1, sortDigits, p);
    scatter(call, tiles, sortDigits, p);
  }
}

} // namespace dtcc::rt::cuda
