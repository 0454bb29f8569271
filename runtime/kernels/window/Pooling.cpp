//===- Pooling.cpp - Maxima of windows
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/window/Pooling.h"

#include <algorithm>
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

/// The largest cells of the windows of a row of results, and their numbers in the plane.
class RowMaxima {
public:
  /// `room`: rowFloats() floats. Without `cells` the numbers are left out.
  RowMaxima(const VectorKernels &kernels, const Window &w, float *room, bool cells)
      : kernels(kernels), w(w), columns(w.result[2]), found(room), cells(cells ? cellsAt(room, 1) : nullptr),
        foundCells(cells ? cellsAt(room, 2) : nullptr) {
    // Windows of [innerBegin, innerEnd) lie on the image as a whole.
    const int64_t reach = w.image[2] + w.low[2] - (w.window[2] - 1) * w.dilations[2];
    innerBegin = std::clamp<int64_t>((w.low[2] + w.strides[2] - 1) / w.strides[2], 0, columns);
    innerEnd = std::clamp<int64_t>(reach > 0 ? (reach - 1) / w.strides[2] + 1 : 0, innerBegin, columns);
  }

  /// Floats of scratch memory: values of one image row, and two rows of numbers.
  static int64_t rowFloats(const Window &w) { return 3 * w.result[2]; }

  /// Writes rows of results to `largest`, and calls body(first result cell, cells) behind each. The rows of `largest`
  /// are `step` floats apart; 0: it is one row.
  template <typename Fn> void forEachRow(const float *plane, float *largest, int64_t step, const Fn &body) {
    int64_t position = 0;
    for (int64_t d = 0; d < w.result[0]; ++d)
      for (int64_t h = 0; h < w.result[1]; ++h, position += columns, largest += step) {
        const Span deep(w, 0, d), down(w, 1, h);
        bool first = true;
        for (int64_t i = deep.begin; i < deep.end; ++i)
          for (int64_t j = down.begin; j < down.end; ++j, first = false) {
            const int64_t row = (w.at(0, d, i) * w.image[1] + w.at(1, h, j)) * w.image[2];
            find(plane + row, row, first ? largest : found, first ? cells : foundCells);
            if (!first)
              kernels.takeLarger(found, foundCells, columns, largest, cells);
          }
        body(position, cells);
      }
  }

private:
  int32_t *cellsAt(float *room, int64_t part) const {
    static_assert(sizeof(int32_t) == sizeof(float));
    return reinterpret_cast<int32_t *>(room + part * columns);
  }
  /// The maxima of one image row; the first cell of `row` is cell `first` of the plane.
  void find(const float *row, int64_t first, float *values, int32_t *numbers) const {
    auto windows = [&](int64_t begin, int64_t count, Span span) {
      const int64_t start = w.at(2, begin, span.begin);
      kernels.largestOfWindows(row + start, count, {w.strides[2], w.dilations[2], span.end - span.begin},
                               static_cast<int32_t>(first + start), values + begin,
                               numbers ? numbers + begin : nullptr);
    };
    for (int64_t v = 0; v < innerBegin; ++v)
      windows(v, 1, Span(w, 2, v));
    if (innerBegin < innerEnd)
      windows(innerBegin, innerEnd - innerBegin, {0, w.window[2]});
    for (int64_t v = innerEnd; v < columns; ++v)
      windows(v, 1, Span(w, 2, v));
  }

  const VectorKernels &kernels;
  const Window &w;
  int64_t columns, innerBegin = 0, innerEnd = 0;
  float *found;
  int32_t *cells, *foundCells;
};

/// Planes as floats: where they lie, or in a thread's scratch memory if they are halves.
class Planes {
public:
  /// The first `rowFloats` floats of the scratch memory are another's.
  Planes(const VectorKernels &kernels, dtcc_dtype type, const TeamScratch &scratch, int part, int64_t rowFloats)
      : kernels(kernels), type(type), room(scratch.at<float>(part) + rowFloats), next(room) {}

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
  const Window &w = p.window;
  return RowMaxima::rowFloats(w) + w.result[2] + (p.type == DTCC_F32 ? 0 : 2 * w.imageCells() + w.resultCells());
}

void maxPool(ThreadTeam &team, const VectorKernels &kernels, const PoolProblem &p, const void *x, void *y,
             const TeamScratch &scratch) {
  const Window &w = p.window;
  const int64_t imageCells = w.imageCells(), resultCells = w.resultCells();
  team.parallelParts(p.planes, grainOf(w), [&](int64_t begin, int64_t end, int part) {
    RowMaxima maxima(kernels, w, scratch.at<float>(part), /*cells=*/false);
    Planes planes(kernels, p.type, scratch, part, RowMaxima::rowFloats(w));
    for (int64_t plane = begin; plane < end; ++plane, planes.restart()) {
      const float *image = planes.read(x, plane, imageCells);
      float *result = planes.write(y, plane, resultCells);
      maxima.forEachRow(image, result, w.result[2], [](int64_t, const int32_t *) {});
      planes.finish(result, y, plane, resultCells);
    }
  });
}

void maxPoolGrad(ThreadTeam &team, const VectorKernels &kernels, const PoolProblem &p, const void *dy, const void *x,
                 void *dx, const TeamScratch &scratch) {
  const Window &w = p.window;
  const int64_t imageCells = w.imageCells(), resultCells = w.resultCells(), columns = w.result[2];
  team.parallelParts(p.planes, grainOf(w), [&](int64_t begin, int64_t end, int part) {
    RowMaxima maxima(kernels, w, scratch.at<float>(part), /*cells=*/true);
    float *row = scratch.at<float>(part) + RowMaxima::rowFloats(w);
    Planes planes(kernels, p.type, scratch, part, RowMaxima::rowFloats(w) + columns);
    for (int64_t plane = begin; plane < end; ++plane, planes.restart()) {
      const float *result = planes.read(dy, plane, resultCells), *image = planes.read(x, plane, imageCells);
      float *gradient = planes.write(dx, plane, imageCells);
      std::fill_n(gradient, imageCells, 0.0f);
      maxima.forEachRow(image, row, 0, [&](int64_t first, const int32_t *cells) {
        for (int64_t v = 0; v < columns; ++v)
          gradient[cells[v]] += result[first + v];
      });
      planes.finish(gradient, dx, plane, imageCells);
    }
  });
}

} // namespace dtcc::rt
