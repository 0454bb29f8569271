//===- RowOrder.cu - The largest cells of rows, and positions in the order of ranks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/SequenceOrder.h"
#include "runtime/cuda/kernels/Device.h"
#include "runtime/cuda/kernels/Vectors.h"
#include "runtime/cuda/kernels/rows/RowOrder.h"

using namespace dtcc::rt::cuda;

namespace {

/// Whether cell a stands before cell b: it is larger, or equal and earlier. NaN is larger than any number. A cell at
/// -1 is none, and stands last.
DTCC_DEVICE bool before(float a, int64_t at, float b, int64_t bt) {
  if (at < 0 || bt < 0)
    return at >= 0;
  if (a != a || b != b)
    return a != a && (b == b || at < bt);
  return a > b || (a == b && at < bt);
}

template <typename Unit> DTCC_DEVICE void reorder(const Reorder &p) {
  for (int64_t i = blockX(); i < p.outer * p.rowsOut; i += blocksX()) {
    int64_t to = p.first + i % p.rowsOut, row = p.rowsIn;
    if (to < p.ordered)
      row = p.inverse ? dtcc::rowOfPosition(to, p.ordered, p.chunks) : dtcc::positionOfRow(to, p.ordered, p.chunks);
    const Unit *from = static_cast<const Unit *>(p.x) + (i / p.rowsOut * p.rowsIn + row) * p.units;
    Unit *target = static_cast<Unit *>(p.out) + i * p.units;
    const Unit filler = *reinterpret_cast<const Unit *>(p.filler);
    for (int64_t c = threadIndex(); c < p.units; c += rowThreads)
      if (row < p.rowsIn)
        target[c] = from[c];
      else
        target[c] = filler;
  }
}

} // namespace

DTCC_KERNEL(top_k, TopK, rowThreads) {
  const int64_t row = blockX() * (rowThreads / warpSize) + warp();
  if (row >= p.rows)
    return;
  const float *cells = p.x + row * p.xStrides[0];
  float last = 0;
  int64_t lastAt = -1;
  for (int64_t i = 0; i < p.picked; ++i) {
    // The first of those that stand after the last pick.
    float best = 0;
    int64_t bestAt = -1;
    for (int64_t c = lane(); c < p.columns; c += warpSize) {
      float cell = cells[c * p.xStrides[1]];
      if ((lastAt < 0 || before(last, lastAt, cell, c)) && before(cell, c, best, bestAt))
        best = cell, bestAt = c;
    }
    for (int mask = warpSize / 2; mask > 0; mask /= 2) {
      float other = exchange(best, mask);
      int64_t otherAt = exchange(static_cast<int>(bestAt), mask);
      if (before(other, otherAt, best, bestAt))
        best = other, bestAt = otherAt;
    }
    if (lane() == 0) {
      p.values[row * p.valueStrides[0] + i * p.valueStrides[1]] = best;
      p.indices[row * p.indexStrides[0] + i * p.indexStrides[1]] = bestAt;
    }
    last = best, lastAt = bestAt;
  }
}

DTCC_KERNEL(reorder_1, Reorder, rowThreads) { reorder<uint8_t>(p); }
DTCC_KERNEL(reorder_2, Reorder, rowThreads) { reorder<uint16_t>(p); }
DTCC_KERNEL(reorder_4, Reorder, rowThreads) { reorder<uint32_t>(p); }
DTCC_KERNEL(reorder_8, Reorder, rowThreads) { reorder<uint64_t>(p); }
DTCC_KERNEL(reorder_16, Reorder, rowThreads) { reorder<Unit16>(p); }
