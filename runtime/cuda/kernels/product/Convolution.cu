//===- Convolution.cu - Convolutions and their gradients as products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled for tiles of DTCC_SIZE rows and operands of DTCC_TYPE. Sums are f32, in ascending
// order of the depth: a result depends neither on the tile nor on the grid.
//
// If strides are not 1, an image cell meets only the window cells that a stride comes from.
// The cells fall into phases by their remainders, and each phase is a product of its
// own over its part of the window. So the input's gradient multiplies nothing by the zeros
// that strides would have between results.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/product/WindowProduct.h"

namespace dtcc::rt::cuda {
namespace {

using bf16 = __bf16;
using f16 = _Float16;
using f32 = float;
using Type = DTCC_TYPE;
constexpr int rows = DTCC_SIZE;
using Operands = WindowOperands<TileOf<Type, rows, false>::Cell>;
using Cell = TileOf<Type, rows, false>::Cell;

/// The channel and window cell of an index of both, as a shift of x.
DTCC_DEVICE WindowTap imageTap(const Convolution &p, int32_t i) {
  const int32_t channel = p.windowCells(i);
  WindowTap tap;
  p.window.place(i - channel * p.windowCells.value, tap.at);
#pragma unroll
  for (int d = 0; d < 3; ++d)
    tap.at[d] *= p.dilations[d];
  tap.offset = channel * static_cast<int32_t>(p.x.channel) +
               p.image.cell(tap.at[0], tap.at[1], tap.at[2]) * static_cast<int32_t>(p.x.cell);
  return tap;
}
/// First cell in x of the window of a result cell, in the first channel of group 0.
DTCC_DEVICE WindowCell imageCell(const Convolution &p, int32_t i) {
  const int32_t sample = p.resultCells(i);
  WindowCell cell;
  p.result.place(i - sample * p.resultCells.value, cell.at);
#pragma unroll
  for (int d = 0; d < 3; ++d)
    cell.at[d] = cell.at[d] * p.strides[d] - p.low[d];
  cell.offset = sample * p.x.sample + p.image.cell(cell.at[0], cell.at[1], cell.at[2]) * static_cast<int32_t>(p.x.cell);
  return cell;
}

/// The first row of a column, a cell of a sample, of a result [samples, groups, channels, cells].
DTCC_DEVICE Type *columnOf(const Convolution &p, const ImageStrides &of, int64_t group, int32_t sample, int32_t cell) {
  return static_cast<Type *>(p.out) + sample * of.sample + group * of.group + cell * of.cell;
}

/// A phase of the image along one dimension: cells first, first + stride, ..; they meet window cells tap, tap + step,
/// .. in result cells start, start - back, .. and so on from there.
struct Phase {
  int32_t first, cells, tap, step, taps, start, back;

  DTCC_DEVICE Phase(const Convolution &p, int d, int32_t first)
      : first(first), cells(largest((p.image.sizes[d] - first + p.strides[d] - 1) / p.strides[d], 0)) {
    const int32_t stride = p.strides[d], dilation = p.dilations[d], window = p.window.sizes[d];
    for (step = 1; step * dilation % stride != 0;)
      ++step;
    for (tap = 0; tap < least(step, window) && (first + p.low[d] - tap * dilation) % stride != 0;)
      ++tap;
    taps = tap < least(step, window) ? (window - tap + step - 1) / step : 0;
    start = (first + p.low[d] - tap * dilation) / stride;
    back = step * dilation / stride;
  }
};

} // namespace

DTCC_KERNEL(convolution, Convolution, convolutionThreads(rows)) {
  const int32_t cells = p.result.cells(), depth = p.inputs * p.window.cells(), tiles = (p.outputs + rows - 1) / rows;
  const auto tile = static_cast<int32_t>(blockX());
  for (int64_t group = blockZ(); group < p.groups; group += blocksZ()) {
    const Operands in = {static_cast<const Cell *>(p.left) + group * p.kernel.group,
                         static_cast<const Cell *>(p.right) + group * p.x.group,
                         p.kernel.output,
                         p.leftChunks != 0,
                         p.image.sizes,
                         p.outputs,
                         p.samples * cells,
                         0,
                         depth,
                         tile % tiles * rows,
                         tile / tiles * convolutionColumns};
    multiplyWindows<Type, rows, false>(
        in,
        [&](int32_t k) DTCC_INLINE {
          if (p.kernel.cell == 1)
            return static_cast<int64_t>(k);
          const int32_t channel = p.windowCells(k);
          return channel * p.kernel.input + (k - channel * p.windowCells.value) * p.kernel.cell;
        },
        [&](int32_t i) DTCC_INLINE { return imageCell(p, i); }, [&](int32_t i) DTCC_INLINE { return imageTap(p, i); },
        [&](int32_t column) DTCC_INLINE {
          const int32_t sample = p.resultCells(column);
          Type *to = columnOf(p, p.y, group, sample, column - sample * cells);
          const int64_t step = p.y.channel;
          return [=](int32_t row, float sum) DTCC_INLINE { to[row * step] = static_cast<Type>(sum); };
        });
  }
}

DTCC_KERNEL(convolution_input_grad, Convolution, convolutionThreads(rows)) {
  const auto number = static_cast<int32_t>(blockY());
  const Phase d(p, 0, number / (p.strides[1] * p.strides[2])), h(p, 1, number / p.strides[2] % p.strides[1]),
      w(p, 2, number % p.strides[2]);
  const Box cells = Box::of(d.cells, h.cells, w.cells), taps = Box::of(d.taps, h.taps, w.taps);
  const Division perSample = Division::by(largest(cells.cells(), 1)),
                 perOutput = Division::by(largest(taps.cells(), 1));
  const int32_t tiles = (p.inputs + rows - 1) / rows;
  const auto tile = static_cast<int32_t>(blockX());
  const int32_t columns = p.samples * cells.cells(), column = tile / tiles * convolutionColumns;
  if (column >= columns)
    return; // phases differ in size
  for (int64_t group = blockZ(); group < p.groups; group += blocksZ()) {
    const Operands in = {static_cast<const Cell *>(p.left) + group * p.kernel.group,
                         static_cast<const Cell *>(p.right) + group * p.y.group,
                         p.kernel.input,
                         false,
                         p.result.sizes,
                         p.inputs,
                         columns,
                         0,
                         p.outputs * taps.cells(),
                         tile % tiles * rows,
                         column};
    const auto place = [&](int32_t k, int32_t &output, int32_t (&at)[3]) DTCC_INLINE {
      output = perOutput(k);
      taps.place(k - output * perOutput.value, at);
    };
    multiplyWindows<Type, rows, false>(
        in,
        [&](int32_t k) DTCC_INLINE {
          int32_t output, at[3];
          place(k, output, at);
          return output * p.kernel.output +
                 p.window.cell(d.tap + at[0] * d.step, h.tap + at[1] * h.step, w.tap + at[2] * w.step) * p.kernel.cell;
        },
        [&](int32_t i) DTCC_INLINE {
          const int32_t sample = perSample(i);
          WindowCell cell;
          cells.place(i - sample * perSample.value, cell.at);
          cell.at[0] += d.start, cell.at[1] += h.start, cell.at[2] += w.start;
          cell.offset =
              sample * p.y.sample + p.result.cell(cell.at[0], cell.at[1], cell.at[2]) * static_cast<int32_t>(p.y.cell);
          return cell;
        },
        [&](int32_t i) DTCC_INLINE {
          int32_t output;
          WindowTap tap;
          place(i, output, tap.at);
          tap.at[0] *= -d.back, tap.at[1] *= -h.back, tap.at[2] *= -w.back;
          tap.offset = output * static_cast<int32_t>(p.y.channel) +
                       p.result.cell(tap.at[0], tap.at[1], tap.at[2]) * static_cast<int32_t>(p.y.cell);
          return tap;
        },
        [&](int32_t column) DTCC_INLINE {
          const int32_t sample = perSample(column);
          int32_t at[3];
          cells.place(column - sample * perSample.value, at);
          Type *to = columnOf(p, p.x, group, sample,
                              p.image.cell(d.first + at[0] * p.strides[0], h.first + at[1] * p.strides[1],
                                           w.first + at[2] * p.strides[2]));
          const int64_t step = p.x.channel;
          return [=](int32_t row, float sum) DTCC_INLINE { to[row * step] = static_cast<Type>(sum); };
        });
  }
}

DTCC_KERNEL(convolution_kernel_grad, Convolution, convolutionThreads(rows)) {
  const int32_t cells = p.result.cells(), columns = p.inputs * p.window.cells(), tiles = (p.outputs + rows - 1) / rows;
  const int32_t depth = p.samples * cells, begin = static_cast<int32_t>(blockY()) * p.partDepth;
  const auto tile = static_cast<int32_t>(blockX());
  for (int64_t group = blockZ(); group < p.groups; group += blocksZ()) {
    const Operands in = {static_cast<const Cell *>(p.left) + group * p.y.group,
                         static_cast<const Cell *>(p.right) + group * p.x.group,
                         p.y.channel,
                         p.leftChunks != 0,
                         p.image.sizes,
                         p.outputs,
                         columns,
                         begin,
                         least(begin + p.partDepth, depth),
                         tile % tiles * rows,
                         tile / tiles * convolutionColumns};
    multiplyWindows<Type, rows, true>(
        in,
        [&](int32_t k) DTCC_INLINE {
          const int32_t sample = p.resultCells(k);
          return sample * p.y.sample + (k - sample * p.resultCells.value) * p.y.cell;
        },
        [&](int32_t i) DTCC_INLINE { return imageCell(p, i); }, [&](int32_t i) DTCC_INLINE { return imageTap(p, i); },
        [&](int32_t column) DTCC_INLINE {
          const int32_t input = p.windowCells(column);
          const int64_t first =
              group * p.kernel.group + input * p.kernel.input + (column - input * p.windowCells.value) * p.kernel.cell;
          float *part = p.parts ? p.parts + blockY() * p.groups * p.kernel.group : nullptr;
          return [=, &p](int32_t row, float sum) DTCC_INLINE {
            const int64_t at = first + row * p.kernel.output;
            if (part)
              part[at] = sum;
            else if (p.outIsFloat)
              static_cast<float *>(p.out)[at] = p.accumulate ? static_cast<float *>(p.out)[at] + sum : sum;
            else
              static_cast<Type *>(p.out)[at] =
                  static_cast<Type>(p.accumulate ? static_cast<float>(static_cast<Type *>(p.out)[at]) + sum : sum);
          };
        });
  }
}

} // namespace dtcc::rt::cuda
