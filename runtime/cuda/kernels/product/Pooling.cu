//===- Pooling.cu - Maxima of windows and their gradient
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/product/Pooling.h"
#include "runtime/cuda/kernels/product/TiledProduct.h"

using namespace dtcc::rt::cuda;
using dtcc::rt::Window;

namespace {

/// The first of the largest cells of a window, NaN being the largest, as an image cell. The image begins at cell
/// `plane`.
DTCC_DEVICE int64_t largestOf(const Pool &p, int64_t plane, int64_t result) {
  const Window &w = p.window;
  const int64_t at[3] = {result / (w.result[1] * w.result[2]), result / w.result[2] % w.result[1],
                         result % w.result[2]};
  int64_t best = -1;
  float top = 0;
  for (int64_t i = 0; i < w.window[0]; ++i)
    for (int64_t j = 0; j < w.window[1]; ++j) {
      const int64_t a = w.at(0, at[0], i), b = w.at(1, at[1], j);
      if (a < 0 || a >= w.image[0] || b < 0 || b >= w.image[1])
        continue;
      for (int64_t k = 0; k < w.window[2]; ++k) {
        const int64_t c = w.at(2, at[2], k);
        if (c < 0 || c >= w.image[2])
          continue;
        const int64_t cell = (a * w.image[1] + b) * w.image[2] + c;
        const float value = cellAt(p.x, p.type, plane + cell);
        if (best < 0 || value > top || (value != value && top == top))
          best = cell, top = value;
      }
    }
  return best;
}

/// The results along dimension `d` that may read image cell `cell`: [begin, end).
DTCC_DEVICE void readers(const Window &w, int d, int64_t cell, int64_t &begin, int64_t &end) {
  const int64_t reach = (w.window[d] - 1) * w.dilations[d], shifted = cell + w.low[d];
  begin = largest<int64_t>((shifted - reach + w.strides[d] - 1) / w.strides[d], 0);
  end = least(shifted / w.strides[d] + 1, w.result[d]);
}

} // namespace

DTCC_KERNEL(max_pool, Pool, poolThreads) {
  const Window &w = p.window;
  const int64_t cells = w.resultCells(), i = blockX() * poolThreads + threadIndex();
  if (i >= p.planes * cells)
    return;
  const int64_t plane = i / cells * w.imageCells();
  storeCell(p.y, p.type, i, cellAt(p.x, p.type, plane + largestOf(p, plane, i % cells)));
}

// Sums the gradients that a cell gets from the windows that contain it, in the order of the windows.
DTCC_KERNEL(max_pool_grad, Pool, poolThreads) {
  const Window &w = p.window;
  const int64_t cells = w.imageCells(), i = blockX() * poolThreads + threadIndex();
  if (i >= p.planes * cells)
    return;
  const int64_t plane = i / cells, cell = i % cells, dy = plane * w.resultCells();
  int64_t begin[3], end[3];
  readers(w, 0, cell / (w.image[1] * w.image[2]), begin[0], end[0]);
  readers(w, 1, cell / w.image[2] % w.image[1], begin[1], end[1]);
  readers(w, 2, cell % w.image[2], begin[2], end[2]);
  float sum = 0;
  for (int64_t a = begin[0]; a < end[0]; ++a)
    for (int64_t b = begin[1]; b < end[1]; ++b)
      for (int64_t c = begin[2]; c < end[2]; ++c) {
        const int64_t result = (a * w.result[1] + b) * w.result[2] + c;
        if (largestOf(p, plane * cells, result) == cell)
          sum += cellAt(p.dy, p.type, dy + result);
      }
  storeCell(p.y, p.type, i, sum);
}
