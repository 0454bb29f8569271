//===- Convolution.cpp - Convolution and its gradients
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/window/Convolution.h"

#include <algorithm>
#include <type_traits>

namespace dtcc::rt {
namespace {

/// Rows of columns (input channel and window cell) that are laid out at a time, unless
/// one channel has more, and result cells beside each other.
constexpr int64_t mostRows = 256, cellBlock = 256;
static_assert(cellBlock % productColumns == 0);

int64_t channelsAtOnce(const ConvolutionProblem &p) {
  return std::clamp<int64_t>(mostRows / p.window.windowCells(), 1, p.inputs);
}
int64_t blocks(int64_t cells, int64_t block) { return (cells + block - 1) / block; }

/// Calls body(row, first column, columns, image row or null, first image cell, step) for runs of
/// result cells [first, last) along the last dimension, for one window cell.
template <typename Fn>
void forEachRun(const Window &w, int64_t first, int64_t last, const int64_t (&cell)[3], const Fn &body) {
  for (int64_t at = first; at < last;) {
    int64_t column = at % w.result[2], line = at / w.result[2];
    int64_t count = std::min(w.result[2] - column, last - at);
    int64_t d = w.at(0, line / w.result[1], cell[0]), h = w.at(1, line % w.result[1], cell[1]);
    bool inside = d >= 0 && d < w.image[0] && h >= 0 && h < w.image[1];
    int64_t row = inside ? (d * w.image[1] + h) * w.image[2] : -1;
    body(at - first, count, row, w.at(2, column, cell[2]));
    at += count;
  }
}

/// The part [begin, end) of a run of `count` cells whose image cells start + i * stride exist.
std::pair<int64_t, int64_t> existing(const Window &w, int64_t start, int64_t count) {
  int64_t stride = w.strides[2];
  int64_t begin = start < 0 ? (-start + stride - 1) / stride : 0;
  int64_t end = start >= w.image[2] ? 0 : (w.image[2] - 1 - start) / stride + 1;
  begin = std::min(begin, count), end = std::clamp(end, begin, count);
  return {begin, end};
}

template <typename Fn> void forEachWindowCell(const Window &w, const Fn &body) {
  int64_t cell[3], row = 0;
  for (cell[0] = 0; cell[0] < w.window[0]; ++cell[0])
    for (cell[1] = 0; cell[1] < w.window[1]; ++cell[1])
      for (cell[2] = 0; cell[2] < w.window[2]; ++cell[2])
        body(cell, row++);
}

/// columns[(c, window cell), result cell - first] of `channels` images, rows cellBlock long. Halves as their bits.
template <typename Cell>
void layOut(const Window &w, const Cell *image, int64_t channels, int64_t first, int64_t last, Cell *columns) {
  int64_t cells = w.windowCells();
  for (int64_t c = 0; c < channels; ++c, image += w.imageCells())
    forEachWindowCell(w, [&](const int64_t (&cell)[3], int64_t number) {
      Cell *to = columns + (c * cells + number) * cellBlock;
      forEachRun(w, first, last, cell, [&](int64_t at, int64_t count, int64_t row, int64_t start) {
        auto [begin, end] = row < 0 ? std::pair<int64_t, int64_t>(count, count) : existing(w, start, count);
        std::fill(to + at, to + at + begin, Cell(0));
        const Cell *from = image + row + start;
        if (w.strides[2] == 1)
          std::copy(from + begin, from + std::max(begin, end), to + at + begin);
        else
          for (int64_t i = begin; i < end; ++i)
            to[at + i] = from[i * w.strides[2]];
        std::fill(to + at + std::max(begin, end), to + at + count, Cell(0));
      });
    });
}

/// The reverse: adds the columns to the cells of the images that they were read from.
void addBack(const Window &w, float *image, int64_t channels, int64_t first, int64_t last, const float *columns) {
  int64_t cells = w.windowCells();
  for (int64_t c = 0; c < channels; ++c, image += w.imageCells())
    forEachWindowCell(w, [&](const int64_t (&cell)[3], int64_t number) {
      const float *from = columns + (c * cells + number) * cellBlock;
      forEachRun(w, first, last, cell, [&](int64_t at, int64_t count, int64_t row, int64_t start) {
        if (row < 0)
          return;
        auto [begin, end] = existing(w, start, count);
        float *to = image + row + start;
        for (int64_t i = begin; i < end; ++i)
          to[i * w.strides[2]] += from[at + i];
      });
    });
}

/// All of one product, by this thread.
void multiply(const VectorKernels &kernels, const ProductProblem &p, float *scratch) {
  for (int64_t column = 0; column < p.n; column += productColumns)
    for (int64_t row = 0; row < p.m; row += productRows)
      kernels.product(p, 0, row, std::min(productRows, p.m - row), column, scratch);
}

struct Strides {
  int64_t row, column; // strides
};
ProductProblem product(dtcc_dtype type, int64_t m, int64_t n, int64_t k, const void *lhs, Strides left, const void *rhs,
                       Strides right, float *out, int64_t outRow, bool accumulate) {
  ProductProblem p;
  p.m = m, p.n = n, p.k = k;
  p.lhs = lhs, p.rhs = rhs, p.out = out;
  p.type = type;
  p.lhsStrides[1] = left.row, p.lhsStrides[2] = left.column;
  p.rhsStrides[1] = right.row, p.rhsStrides[2] = right.column;
  p.outStrides[1] = outRow, p.outStrides[2] = 1;
  p.accumulate = accumulate;
  return p;
}

/// A thread's scratch memory: columns, sums of a result that is narrower, and what products need.
struct Scratch {
  float *columns, *sums, *rest;
};
int64_t columnFloats(const ConvolutionProblem &p) { return channelsAtOnce(p) * p.window.windowCells() * cellBlock; }
int64_t sumFloats(const ConvolutionProblem &p) {
  const int64_t chunk = channelsAtOnce(p);
  return p.type == DTCC_F32 ? 0
                            : std::max({p.outputs * cellBlock, chunk * p.window.imageCells(),
                                        p.outputs * chunk * p.window.windowCells()});
}
Scratch scratchOf(const ConvolutionProblem &p, const TeamScratch &scratch, int part) {
  auto *columns = scratch.at<float>(part);
  float *sums = columns + columnFloats(p);
  return {columns, sums, sums + sumFloats(p)};
}

template <typename Cell>
void forward(ThreadTeam &team, const VectorKernels &kernels, const ConvolutionProblem &p, const Cell *x,
             const Cell *kernel, Cell *y, const TeamScratch &scratch) {
  constexpr bool half = !std::is_same_v<Cell, float>;
  const Window &w = p.window;
  int64_t cells = w.resultCells(), taps = w.windowCells(), chunk = channelsAtOnce(p);
  int64_t perImage = blocks(cells, cellBlock);
  team.parallelParts(p.samples * p.groups * perImage, 1, [&](int64_t begin, int64_t end, int part) {
    const Scratch room = scratchOf(p, scratch, part);
    auto *columns = reinterpret_cast<Cell *>(room.columns);
    for (int64_t item = begin; item < end; ++item) {
      int64_t plane = item / perImage, first = item % perImage * cellBlock, last = std::min(first + cellBlock, cells);
      const Cell *image = x + plane * p.inputs * w.imageCells();
      const Cell *filter = kernel + plane % p.groups * p.outputs * p.inputs * taps;
      Cell *result = y + plane * p.outputs * cells + first;
      float *sums = room.sums;
      if constexpr (!half)
        sums = result;
      for (int64_t c = 0; c < p.inputs; c += chunk) {
        int64_t channels = std::min(chunk, p.inputs - c);
        layOut(w, image + c * w.imageCells(), channels, first, last, columns);
        multiply(kernels,
                 product(p.type, p.outputs, last - first, channels * taps, filter + c * taps, {p.inputs * taps, 1},
                         columns, {cellBlock, 1}, sums, half ? cellBlock : cells, c > 0),
                 room.rest);
      }
      for (int64_t o = 0; half && o < p.outputs; ++o)
        kernels.narrow(p.type, sums + o * cellBlock, last - first, result + o * cells);
    }
  });
}

template <typename Cell>
void inputGrad(ThreadTeam &team, const VectorKernels &kernels, const ConvolutionProblem &p, const Cell *dy,
               const Cell *kernel, Cell *dx, const TeamScratch &scratch) {
  constexpr bool half = !std::is_same_v<Cell, float>;
  const Window &w = p.window;
  int64_t cells = w.resultCells(), taps = w.windowCells(), chunk = channelsAtOnce(p);
  int64_t perPlane = blocks(p.inputs, chunk);
  team.parallelParts(p.samples * p.groups * perPlane, 1, [&](int64_t begin, int64_t end, int part) {
    const Scratch room = scratchOf(p, scratch, part);
    for (int64_t item = begin; item < end; ++item) {
      int64_t plane = item / perPlane, c = item % perPlane * chunk, channels = std::min(chunk, p.inputs - c);
      Cell *result = dx + (plane * p.inputs + c) * w.imageCells();
      float *image = room.sums;
      if constexpr (!half)
        image = result;
      const Cell *filter = kernel + (plane % p.groups * p.outputs * p.inputs + c) * taps;
      std::fill_n(image, channels * w.imageCells(), 0.0f);
      for (int64_t first = 0; first < cells; first += cellBlock) {
        int64_t last = std::min(first + cellBlock, cells);
        multiply(kernels,
                 product(p.type, channels * taps, last - first, p.outputs, filter, {1, p.inputs * taps},
                         dy + plane * p.outputs * cells + first, {cells, 1}, room.columns, cellBlock, false),
                 room.rest);
        addBack(w, image, channels, first, last, room.columns);
      }
      if (half)
        kernels.narrow(p.type, image, channels * w.imageCells(), result);
    }
  });
}

/// `Out`: the operands' type, or f32.
template <typename Cell, typename Out>
void kernelGrad(ThreadTeam &team, const VectorKernels &kernels, const ConvolutionProblem &p, const Cell *dy,
                const Cell *x, bool accumulate, Out *dkernel, const TeamScratch &scratch) {
  constexpr bool half = !std::is_same_v<Out, float>;
  const Window &w = p.window;
  int64_t cells = w.resultCells(), taps = w.windowCells(), chunk = channelsAtOnce(p);
  int64_t chunks = blocks(p.inputs, chunk);
  // Few channels: threads share out the outputs as well, and lay the columns out again. The sums do not depend on it.
  int64_t shares = std::clamp<int64_t>(blocks(team.threads(), p.groups * chunks), 1, p.outputs);
  int64_t share = blocks(p.outputs, shares);
  shares = blocks(p.outputs, share);
  team.parallelParts(p.groups * chunks * shares, 1, [&](int64_t begin, int64_t end, int part) {
    const Scratch room = scratchOf(p, scratch, part);
    auto *columns = reinterpret_cast<Cell *>(room.columns);
    for (int64_t item = begin; item < end; ++item) {
      int64_t o = item % shares * share, outputs = std::min(share, p.outputs - o);
      int64_t c = item / shares % chunks * chunk, channels = std::min(chunk, p.inputs - c);
      int64_t group = item / shares / chunks;
      Out *result = dkernel + ((group * p.outputs + o) * p.inputs + c) * taps;
      float *filter = room.sums;
      const int64_t row = half ? channels * taps : p.inputs * taps;
      if constexpr (!half)
        filter = result;
      for (int64_t r = 0; half && accumulate && r < outputs; ++r)
        kernels.widen(p.outType, result + r * p.inputs * taps, row, filter + r * row);
      bool add = accumulate;
      for (int64_t sample = 0; sample < p.samples; ++sample) {
        int64_t plane = sample * p.groups + group;
        for (int64_t first = 0; first < cells; first += cellBlock, add = true) {
          int64_t last = std::min(first + cellBlock, cells);
          layOut(w, x + (plane * p.inputs + c) * w.imageCells(), channels, first, last, columns);
          multiply(kernels,
                   product(p.type, outputs, channels * taps, last - first, dy + (plane * p.outputs + o) * cells + first,
                           {cells, 1}, columns, {1, cellBlock}, filter, row, add),
                   room.rest);
        }
      }
      for (int64_t r = 0; half && r < outputs; ++r)
        kernels.narrow(p.outType, filter + r * row, row, result + r * p.inputs * taps);
    }
  });
}

/// Calls run with a cell of type `type`: float, or the bits of a half.
template <typename Fn> void withCell(dtcc_dtype type, const Fn &run) {
  type == DTCC_F32 ? run(float()) : run(uint16_t());
}

} // namespace

int64_t convolutionScratch(const ConvolutionProblem &p) {
  return columnFloats(p) + sumFloats(p) + productScratch + (p.type == DTCC_F32 ? 0 : halfProductScratch);
}

void convolution(ThreadTeam &team, const VectorKernels &kernels, const ConvolutionProblem &p, const void *x,
                 const void *kernel, void *y, const TeamScratch &scratch) {
  withCell(p.type, [&]<typename Cell>(Cell) {
    forward(team, kernels, p, static_cast<const Cell *>(x), static_cast<const Cell *>(kernel), static_cast<Cell *>(y),
            scratch);
  });
}

void convolutionInputGrad(ThreadTeam &team, const VectorKernels &kernels, const ConvolutionProblem &p, const void *dy,
                          const void *kernel, void *dx, const TeamScratch &scratch) {
  withCell(p.type, [&]<typename Cell>(Cell) {
    inputGrad(team, kernels, p, static_cast<const Cell *>(dy), static_cast<const Cell *>(kernel),
              static_cast<Cell *>(dx), scratch);
  });
}

void convolutionKernelGrad(ThreadTeam &team, const VectorKernels &kernels, const ConvolutionProblem &p, const void *dy,
                           const void *x, bool accumulate, void *dkernel, const TeamScratch &scratch) {
  withCell(p.type, [&]<typename Cell>(Cell) {
    withCell(p.outType, [&]<typename Out>(Out) {
      kernelGrad(team, kernels, p, static_cast<const Cell *>(dy), static_cast<const Cell *>(x), accumulate,
                 static_cast<Out *>(dkernel), scratch);
    });
  });
}

} // namespace dtcc::rt
