//===- Pooling.cpp - Maxima of windows along rows -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops over windows are plain, and the compiler makes vectors of them: strides that
// are constants let it read cells that lie apart by shuffles.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/Simd.h"
#include "runtime/kernels/vector/Table.h"

namespace dtcc::rt::DTCC_SIMD_LEVEL {
namespace {

/// Whether `value` replaces `held`: it is larger, or the first NaN, which nothing replaces.
DTCC_INLINE bool replaces(float value, float held) { return !(value <= held) & (held == held); }

/// Finds the largest cell of each window. `Stride` is that of the windows if it is known to the compiler, else 0.
template <bool Cells, int Stride>
static void largestOf(const float *__restrict row, int64_t count, const RowWindows &windows, int32_t first,
                      float *__restrict largest, int32_t *__restrict cells) {
  const int64_t stride = Stride ? Stride : windows.stride;
  for (int64_t v = 0; v < count; ++v) {
    largest[v] = row[v * stride];
    if (Cells)
      cells[v] = first + (int32_t)(v * stride);
  }
  for (int64_t k = 1; k < windows.window; ++k) {
    const int64_t start = k * windows.dilation;
    const float *__restrict from = row + start;
    const int32_t cell = first + (int32_t)start;
    for (int64_t v = 0; v < count; ++v) {
      const float value = from[v * stride];
      const bool takes = replaces(value, largest[v]);
      largest[v] = takes ? value : largest[v];
      if (Cells)
        cells[v] = takes ? cell + (int32_t)(v * stride) : cells[v];
    }
  }
}

template <bool Cells>
static void byStride(const float *row, int64_t count, const RowWindows &windows, int32_t first, float *largest,
                     int32_t *cells) {
  if (windows.stride == 1)
    largestOf<Cells, 1>(row, count, windows, first, largest, cells);
  else if (windows.stride == 2)
    largestOf<Cells, 2>(row, count, windows, first, largest, cells);
  else
    largestOf<Cells, 0>(row, count, windows, first, largest, cells);
}

} // namespace

void largestOfWindows(const float *row, int64_t count, const RowWindows &windows, int32_t first, float *largest,
                      int32_t *cells) {
  if (cells)
    byStride<true>(row, count, windows, first, largest, cells);
  else
    byStride<false>(row, count, windows, first, largest, cells);
}

void takeLarger(const float *__restrict values, const int32_t *__restrict cells, int64_t n, float *__restrict largest,
                int32_t *__restrict largestCells) {
  if (!cells) {
    for (int64_t i = 0; i < n; ++i)
      largest[i] = replaces(values[i], largest[i]) ? values[i] : largest[i];
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const bool takes = replaces(values[i], largest[i]);
    largest[i] = takes ? values[i] : largest[i];
    largestCells[i] = takes ? cells[i] : largestCells[i];
  }
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
