//===- Pooling.cpp - Maxima of windows
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Pooling.h"

#include <algorithm>
#include <cmath>

namespace dtcc::rt {
namespace {

constexpr int64_t grainCells = 16384;

int64_t grainOf(const Window &w) {
  return std::max<int64_t>(1, grainCells / std::max<int64_t>(w.resultCells() * w.windowCells(), 1));
}

/// Calls body(result cell, its largest image cell) for all windows of a plane.
template <typename Fn> void forEachLargest(const Window &w, const float *plane, const Fn &body) {
  int64_t position = 0;
  for (int64_t d = 0; d < w.result[0]; ++d)
    for (int64_t h = 0; h < w.result[1]; ++h)
      for (int64_t v = 0; v < w.result[2]; ++v, ++position) {
        int64_t best = -1;
        for (int64_t i = 0; i < w.window[0]; ++i)
          for (int64_t j = 0; j < w.window[1]; ++j) {
            int64_t a = w.at(0, d, i), b = w.at(1, h, j);
            if (a < 0 || a >= w.image[0] || b < 0 || b >= w.image[1])
              continue;
            for (int64_t k = 0; k < w.window[2]; ++k) {
              int64_t c = w.at(2, v, k);
              if (c < 0 || c >= w.image[2])
                continue;
              int64_t cell = (a * w.image[1] + b) * w.image[2] + c;
              float value = plane[cell];
              if (best < 0 || value > plane[best] || (std::isnan(value) && !std::isnan(plane[best])))
                best = cell;
            }
          }
        body(position, best);
      }
}

} // namespace

void maxPool(ThreadTeam &team, const Window &w, int64_t planes, const float *x, float *y) {
  team.parallelFor(planes, grainOf(w), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const float *plane = x + p * w.imageCells();
      float *to = y + p * w.resultCells();
      forEachLargest(w, plane, [&](int64_t cell, int64_t best) { to[cell] = plane[best]; });
    }
  });
}

void maxPoolGrad(ThreadTeam &team, const Window &w, int64_t planes, const float *dy, const float *x, float *dx) {
  team.parallelFor(planes, grainOf(w), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const float *from = dy + p * w.resultCells();
      float *to = dx + p * w.imageCells();
      std::fill_n(to, w.imageCells(), 0.0f);
      forEachLargest(w, x + p * w.imageCells(), [&](int64_t cell, int64_t best) { to[best] += from[cell]; });
    }
  });
}

} // namespace dtcc::rt
