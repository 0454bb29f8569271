//===- Pooling.cpp - Maxima of windows
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Pooling.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace dtcc::rt {
namespace {

constexpr int64_t grainCells = 16384;

int64_t grainOf(const Window &w) {
  return std::max<int64_t>(1, grainCells / std::max<int64_t>(w.resultCells() * w.windowCells(), 1));
}

/// Window cells [begin, end) of a result cell along one dimension that lie on the image.
struct Span {
  int64_t begin, end;

  Span(int64_t begin, int64_t end) : begin(begin), end(end) {}
  Span(const Window &w, int d, int64_t i) {
    const int64_t first = w.at(d, i, 0), step = w.dilations[d];
    begin = first >= 0 ? 0 : std::min((-first + step - 1) / step, w.window[d]);
    end = first < w.image[d] ? std::min((w.image[d] - first + step - 1) / step, w.window[d]) : 0;
  }
};

/// Calls body(result cell, its largest image cell) for all windows of a plane; -1 where a window sees no cell.
template <typename Fn> void forEachLargest(const Window &w, const float *plane, const Fn &body) {
  // Windows of [innerBegin, innerEnd) lie on the image as a whole.
  const int64_t reach = w.image[2] + w.low[2] - (w.window[2] - 1) * w.dilations[2];
  const int64_t innerBegin = (std::max<int64_t>(w.low[2], 0) + w.strides[2] - 1) / w.strides[2];
  const int64_t innerEnd = reach > 0 ? (reach - 1) / w.strides[2] + 1 : 0;
  int64_t position = 0;
  for (int64_t d = 0; d < w.result[0]; ++d)
    for (int64_t h = 0; h < w.result[1]; ++h) {
      const Span deep(w, 0, d), down(w, 1, h);
      for (int64_t v = 0; v < w.result[2]; ++v, ++position) {
        const Span span = v >= innerBegin && v < innerEnd ? Span{0, w.window[2]} : Span(w, 2, v);
        int64_t best = -1;
        float largest = -std::numeric_limits<float>::infinity();
        for (int64_t i = deep.begin; i < deep.end; ++i)
          for (int64_t j = down.begin; j < down.end; ++j) {
            const int64_t row = (w.at(0, d, i) * w.image[1] + w.at(1, h, j)) * w.image[2];
            for (int64_t k = span.begin; k < span.end; ++k) {
              const int64_t cell = row + w.at(2, v, k);
              const float value = plane[cell];
              // The first cell; a larger one; or the first NaN, which nothing replaces.
              const bool takes = (best < 0) | (!(value <= largest) & (largest == largest));
              best = takes ? cell : best;
              largest = takes ? value : largest;
            }
          }
        body(position, best);
      }
    }
}

/// Planes as floats: where they lie, or in a thread's scratch memory if they are halves.
class Planes {
public:
  Planes(const VectorKernels &kernels, dtcc_dtype type, const TeamScratch &scratch, int part)
      : kernels(kernels), type(type), room(type == DTCC_F32 ? nullptr : scratch.at<float>(part)), next(room) {}

  /// For the next plane.
  void restart() { next = room; }
  const float *read(const void *data, int64_t plane, int64_t cells) {
    if (type == DTCC_F32)
      return static_cast<const float *>(data) + plane * cells;
    float *to = take(cells);
    kernels.widen(type, static_cast<const uint16_t *>(data) + plane * cells, cells, to);
    return to;
  }
  float *write(void *data, int64_t plane, int64_t cells) {
    return type == DTCC_F32 ? static_cast<float *>(data) + plane * cells : take(cells);
  }
  void finish(const float *from, void *data, int64_t plane, int64_t cells) {
    if (type != DTCC_F32)
      kernels.narrow(type, from, cells, static_cast<uint16_t *>(data) + plane * cells);
  }

private:
  float *take(int64_t cells) { return std::exchange(next, next + cells); }

  const VectorKernels &kernels;
  dtcc_dtype type;
  float *room, *next;
};

} // namespace

int64_t poolScratch(const PoolProblem &p) {
  return p.type == DTCC_F32 ? 0 : 2 * p.window.imageCells() + p.window.resultCells();
}

void maxPool(ThreadTeam &team, const VectorKernels &kernels, const PoolProblem &p, const void *x, void *y,
             const TeamScratch &scratch) {
  const Window &w = p.window;
  const int64_t imageCells = w.imageCells(), resultCells = w.resultCells();
  team.parallelParts(p.planes, grainOf(w), [&](int64_t begin, int64_t end, int part) {
    Planes planes(kernels, p.type, scratch, part);
    for (int64_t plane = begin; plane < end; ++plane, planes.restart()) {
      const float *image = planes.read(x, plane, imageCells);
      float *result = planes.write(y, plane, resultCells);
      forEachLargest(w, image, [&](int64_t cell, int64_t best) { result[cell] = image[best]; });
      planes.finish(result, y, plane, resultCells);
    }
  });
}

void maxPoolGrad(ThreadTeam &team, const VectorKernels &kernels, const PoolProblem &p, const void *dy, const void *x,
                 void *dx, const TeamScratch &scratch) {
  const Window &w = p.window;
  const int64_t imageCells = w.imageCells(), resultCells = w.resultCells();
  team.parallelParts(p.planes, grainOf(w), [&](int64_t begin, int64_t end, int part) {
    Planes planes(kernels, p.type, scratch, part);
    for (int64_t plane = begin; plane < end; ++plane, planes.restart()) {
      const float *result = planes.read(dy, plane, resultCells), *image = planes.read(x, plane, imageCells);
      float *gradient = planes.write(dx, plane, imageCells);
      std::fill_n(gradient, imageCells, 0.0f);
      forEachLargest(w, image, [&](int64_t cell, int64_t best) { gradient[best] += result[cell]; });
      planes.finish(gradient, dx, plane, imageCells);
    }
  });
}

} // namespace dtcc::rt
