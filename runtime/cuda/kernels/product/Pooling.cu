//===- Pooling.cu - Maxima of windows and their gradient
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Cells.h"
#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/product/PoolColumn.h"

using namespace dtcc::rt::cuda;

namespace {

/// Cells of 16 bytes.
constexpr int unitOf(int32_t type) { return type == DTCC_F32 ? 4 : 8; }

/// The larger one, or NaN if one is.
DTCC_DEVICE float largerOrNan(float a, float b) { return __nvvm_fmax_nan_f(a, b); }

/// The cells of a window that lie on the image: [begin, end) along each dimension, and the image cell of window cell 0.
struct Reach {
  int32_t first[3], begin[3], end[3];

  DTCC_DEVICE Reach(const Pool &p, const int32_t (&at)[3]) {
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      first[d] = at[d] * p.strides[d].value - p.low[d];
      begin[d] = first[d] >= 0 ? 0 : p.dilations[d](p.dilations[d].value - 1 - first[d]);
      const int32_t left = p.image.sizes[d] - first[d];
      end[d] = left <= 0 ? 0 : least(p.dilations[d](left + p.dilations[d].value - 1), p.window[d]);
    }
  }
  /// Calls fn(image cell) for each, in row-major order.
  template <typename Fn> DTCC_DEVICE void forEach(const Pool &p, Fn fn) const {
    for (int32_t i = begin[0]; i < end[0]; ++i)
      for (int32_t j = begin[1]; j < end[1]; ++j) {
        const int32_t row =
            p.image.cell(first[0] + i * p.dilations[0].value, first[1] + j * p.dilations[1].value, first[2]);
        for (int32_t k = begin[2]; k < end[2]; ++k)
          fn(row + k * p.dilations[2].value);
      }
  }
};

/// The first window along dimension `d` that may read image cell `cell`, and the one behind the last.
DTCC_DEVICE int32_t firstReader(const Pool &p, int d, int32_t cell) {
  const int32_t past = cell + p.low[d] - (p.window[d] - 1) * p.dilations[d].value;
  return past <= 0 ? 0 : p.strides[d](past + p.strides[d].value - 1);
}
DTCC_DEVICE int32_t endOfReaders(const Pool &p, int d, int32_t cell) {
  return least(p.strides[d](cell + p.low[d]) + 1, p.result.sizes[d]);
}

/// The first of the largest of cells that come in their order, NaN being the largest.
struct Largest {
  int32_t cell = -1;
  float value = 0;

  DTCC_DEVICE void take(int32_t at, float next) {
    if (cell < 0 || beats(next, value))
      cell = at, value = next;
  }
};

template <int32_t type> DTCC_DEVICE void maxPool(const Pool &p) {
  const int64_t i = blockX() * poolThreads + threadIndex();
  if (i >= int64_t{p.planes} * p.resultCells.value)
    return;
  const auto number = static_cast<int32_t>(i);
  const int32_t plane = p.resultCells(number);
  int32_t at[3];
  p.result.place(number - plane * p.resultCells.value, at);
  const int64_t image = int64_t{plane} * p.imageCells.value;
  Largest largest;
  Reach(p, at).forEach(p, [&](int32_t cell) DTCC_INLINE { largest.take(cell, cellAt(p.x, type, image + cell)); });
  storeCell(p.y, type, i, largest.value);
}

/// Place of a thread: neighbouring channels of a cell of an image or a result, in a sample.
struct Unit {
  int32_t sample, cell, channel, at[3];
  bool exists;

  DTCC_DEVICE Unit(const Pool &p, const Box &box, const Division &cells, int unit) {
    const int64_t number = blockX() * poolThreads + threadIndex();
    const auto i = static_cast<int32_t>(number);
    const int32_t place = p.units(i);
    sample = cells(place), cell = place - sample * cells.value, channel = (i - place * p.units.value) * unit;
    box.place(cell, at);
    exists = number < int64_t{p.planes} * cells.value / unit;
  }
  /// Cell `of` of the sample, which has `cells`.
  DTCC_DEVICE int64_t offset(const Pool &p, const Division &cells, int32_t of) const {
    return (int64_t{sample} * cells.value + of) * p.channels.value + channel;
  }
};

template <int32_t type, int unit> DTCC_DEVICE void maxPoolLast(const Pool &p) {
  const Unit here(p, p.result, p.resultCells, unit);
  if (!here.exists)
    return;
  const int64_t image = here.offset(p, p.imageCells, 0);
  Largest largest[unit];
  Reach(p, here.at).forEach(p, [&](int32_t cell) DTCC_INLINE {
    const auto values = Cells<unit>::load(p.x, type, image + int64_t{cell} * p.channels.value);
#pragma unroll
    for (int c = 0; c < unit; ++c)
      largest[c].take(cell, values.of[c]);
  });
  Cells<unit> y;
#pragma unroll
  for (int c = 0; c < unit; ++c)
    y.of[c] = largest[c].value;
  y.store(p.y, type, here.offset(p, p.resultCells, here.cell));
}

/// A cell is the first of the largest of a window if it is larger than the cells before it and at least as large as
/// those behind it: only their maxima are computed, and no position.
template <int32_t type, int unit> DTCC_DEVICE void maxPoolGradLast(const Pool &p) {
  const Unit here(p, p.image, p.imageCells, unit);
  if (!here.exists)
    return;
  const int64_t image = here.offset(p, p.imageCells, 0), results = here.offset(p, p.resultCells, 0);
  const auto own = Cells<unit>::load(p.x, type, image + int64_t{here.cell} * p.channels.value);
  Cells<unit> sums = {};
  int32_t begin[3], end[3], at[3];
  for (int d = 0; d < 3; ++d)
    begin[d] = firstReader(p, d, here.at[d]), end[d] = endOfReaders(p, d, here.at[d]);
  for (at[0] = begin[0]; at[0] < end[0]; ++at[0])
    for (at[1] = begin[1]; at[1] < end[1]; ++at[1])
      for (at[2] = begin[2]; at[2] < end[2]; ++at[2]) {
        float before[unit], behind[unit];
#pragma unroll
        for (int c = 0; c < unit; ++c)
          before[c] = behind[c] = -infinity;
        bool isFirst = true, isRead = false;
        Reach(p, at).forEach(p, [&](int32_t cell) DTCC_INLINE {
          if (cell == here.cell) {
            isRead = true;
            return;
          }
          const auto values = Cells<unit>::load(p.x, type, image + int64_t{cell} * p.channels.value);
          isFirst = isFirst && cell > here.cell;
          if (cell < here.cell) {
#pragma unroll
            for (int c = 0; c < unit; ++c)
              before[c] = largerOrNan(before[c], values.of[c]);
          } else {
#pragma unroll
            for (int c = 0; c < unit; ++c)
              behind[c] = largerOrNan(behind[c], values.of[c]);
          }
        });
        if (!isRead)
          continue; // the cell is between those of a dilated window
        const auto dy =
            Cells<unit>::load(p.dy, type, results + int64_t{p.result.cell(at[0], at[1], at[2])} * p.channels.value);
#pragma unroll
        for (int c = 0; c < unit; ++c) {
          const float x = own.of[c];
          const bool isNan = x != x;
          const bool beatsBefore = isFirst || (isNan ? before[c] == before[c] : before[c] < x);
          if (beatsBefore && (isNan || behind[c] <= x))
            sums.of[c] += dy.of[c];
        }
      }
  sums.store(p.y, type, here.offset(p, p.imageCells, here.cell));
}

/// Neighbours in a tile's lists: cells of a plane, or planes of a cell if channels are last, so that the threads of a
/// warp read neighbours in memory.
struct TileEntry {
  int32_t plane, cell;

  DTCC_DEVICE TileEntry(const Pool &p, int32_t i, const Division &cells) {
    const Division &inner = p.last ? p.tilePlanes : cells;
    const int32_t outer = inner(i), rest = i - outer * inner.value;
    plane = p.last ? rest : outer, cell = p.last ? outer : rest;
  }
};

/// Largest cells and gradients of the windows of a tile. All types share it: each kernel has 48 KiB at most.
struct TileWindows {
  int32_t cells[poolTileWindows];
  float gradients[poolTileWindows];
};

template <int32_t type> DTCC_DEVICE void maxPoolGrad(const Pool &p, TileWindows &found) {
  constexpr int along = unitOf(type);
  const auto block = static_cast<int32_t>(blockX());
  const int32_t group = p.tileCount(block), firstPlane = group * p.tilePlanes.value;
  int32_t origin[3], firstWindow[3];
  p.tiles.place(block - group * p.tileCount.value, origin);
  for (int d = 0; d < 3; ++d)
    origin[d] *= p.tile[d], firstWindow[d] = firstReader(p, d, origin[d]);
  // Offsets of cell 0 of a plane's image and result, and from a cell to the next.
  const int32_t step = p.last ? p.channels.value : 1;
  const auto planeAt = [&](int32_t plane, const Division &size) DTCC_INLINE -> int64_t {
    if (!p.last)
      return int64_t{plane} * size.value;
    const int32_t sample = p.channels(plane);
    return int64_t{sample} * size.value * p.channels.value + (plane - sample * p.channels.value);
  };

  const int32_t windows = p.windowCount.value * p.tilePlanes.value;
  for (int32_t i = threadIndex(); i < windows; i += poolThreads) {
    const TileEntry entry(p, i, p.windowCount);
    const int32_t plane = firstPlane + entry.plane;
    int32_t at[3];
    p.tileWindows.place(entry.cell, at);
    bool exists = plane < p.planes;
#pragma unroll
    for (int d = 0; d < 3; ++d)
      at[d] += firstWindow[d], exists = exists && at[d] < p.result.sizes[d];
    if (!exists)
      continue;
    const int64_t image = planeAt(plane, p.imageCells);
    Largest largest;
    Reach(p, at).forEach(p, [&](int32_t cell)
                                DTCC_INLINE { largest.take(cell, cellAt(p.x, type, image + int64_t{cell} * step)); });
    found.cells[i] = largest.cell;
    found.gradients[i] =
        cellAt(p.dy, type, planeAt(plane, p.resultCells) + int64_t{p.result.cell(at[0], at[1], at[2])} * step);
  }
  synchronize();

  const int32_t planeStep = p.last ? 1 : p.windowCount.value, windowStep = p.last ? p.tilePlanes.value : 1;
  const int32_t strips = p.stripCount.value * p.tilePlanes.value;
  for (int32_t i = threadIndex(); i < strips; i += poolThreads) {
    const TileEntry entry(p, i, p.stripCount);
    const int32_t plane = firstPlane + entry.plane;
    int32_t at[3];
    p.strips.place(entry.cell, at);
    at[2] *= along;
    const int32_t width = least(along, least(p.tile[2] - at[2], p.image.sizes[2] - origin[2] - at[2]));
    bool exists = plane < p.planes && width > 0;
#pragma unroll
    for (int d = 0; d < 3; ++d)
      at[d] += origin[d], exists = exists && at[d] < p.image.sizes[d];
    if (!exists)
      continue;
    const int32_t first = p.image.cell(at[0], at[1], at[2]);
    int32_t begin[3], end[3];
#pragma unroll
    for (int d = 0; d < 3; ++d)
      begin[d] = firstReader(p, d, at[d]), end[d] = endOfReaders(p, d, at[d] + (d == 2 ? width - 1 : 0));
    Cells<along> sums = {};
    for (int32_t a = begin[0]; a < end[0]; ++a)
      for (int32_t b = begin[1]; b < end[1]; ++b) {
        const int32_t row = p.tileWindows.cell(a - firstWindow[0], b - firstWindow[1], -firstWindow[2]);
        for (int32_t c = begin[2]; c < end[2]; ++c) {
          const int32_t window = entry.plane * planeStep + (row + c) * windowStep, place = found.cells[window] - first;
          const float gradient = found.gradients[window];
#pragma unroll
          for (int k = 0; k < along; ++k)
            if (place == k)
              sums.of[k] += gradient;
        }
      }
    const int64_t to = planeAt(plane, p.imageCells) + int64_t{first} * step;
    if (p.unit == along && !p.last && width == along)
      sums.store(p.y, type, to);
    else
#pragma unroll
      for (int k = 0; k < along; ++k)
        if (k < width)
          storeCell(p.y, type, to + int64_t{k} * step, sums.of[k]);
  }
}

/// Calls FUNCTION<type>(..) or FUNCTION<type, unit>(p) for those of the parameters.
#define DTCC_POOL_BY_TYPE(FUNCTION, ...)                                                                               \
  if (p.type == DTCC_F32)                                                                                              \
    FUNCTION<DTCC_F32>(__VA_ARGS__);                                                                                   \
  else if (p.type == DTCC_BF16)                                                                                        \
    FUNCTION<DTCC_BF16>(__VA_ARGS__);                                                                                  \
  else                                                                                                                 \
    FUNCTION<DTCC_F16>(__VA_ARGS__)
#define DTCC_POOL_BY_UNIT(FUNCTION)                                                                                    \
  if (p.type == DTCC_F32)                                                                                              \
    p.unit == 1 ? FUNCTION<DTCC_F32, 1>(p) : FUNCTION<DTCC_F32, 4>(p);                                                 \
  else if (p.type == DTCC_BF16)                                                                                        \
    p.unit == 1 ? FUNCTION<DTCC_BF16, 1>(p) : FUNCTION<DTCC_BF16, 8>(p);                                               \
  else                                                                                                                 \
    p.unit == 1 ? FUNCTION<DTCC_F16, 1>(p) : FUNCTION<DTCC_F16, 8>(p)

} // namespace

DTCC_KERNEL(max_pool, Pool, poolThreads) { DTCC_POOL_BY_TYPE(maxPool, p); }
DTCC_KERNEL(max_pool_last, Pool, poolThreads) { DTCC_POOL_BY_UNIT(maxPoolLast); }
DTCC_KERNEL(max_pool_grad, Pool, poolThreads) {
  DTCC_SHARED TileWindows found;
  DTCC_POOL_BY_TYPE(maxPoolGrad, p, found);
}
DTCC_KERNEL(max_pool_grad_last, Pool, poolThreads) { DTCC_POOL_BY_UNIT(maxPoolGradLast); }

/// The third argument is the most blocks that a multiprocessor has registers for without spilling.
#define DTCC_POOL_COLUMNS(SIZE, STRIDE, BLOCKS)                                                                        \
  DTCC_KERNEL_BLOCKS(max_pool_grad_##SIZE##_##STRIDE, Pool, poolThreads, BLOCKS) {                                     \
    if (p.type == DTCC_F32)                                                                                            \
      maxPoolGradColumns<DTCC_F32, SIZE, STRIDE>(p);                                                                   \
    else if (p.type == DTCC_BF16)                                                                                      \
      maxPoolGradColumns<DTCC_BF16, SIZE, STRIDE>(p);                                                                  \
    else                                                                                                               \
      maxPoolGradColumns<DTCC_F16, SIZE, STRIDE>(p);                                                                   \
  }

DTCC_POOL_COLUMNS(2, 2, 5)
DTCC_POOL_COLUMNS(3, 1, 2)
DTCC_POOL_COLUMNS(3, 2, 3)
