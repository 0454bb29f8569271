//===- DirectConvolution.cu - Convolutions of few channels a group
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Depthwise convolutions and their like: a tile of 64 rows would have one or two of them.
// They are bound by memory, and windows overlap, so that most reads find a cache.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/product/Convolution.h"
#include "runtime/cuda/kernels/product/TiledProduct.h"

using namespace dtcc::rt::cuda;

namespace {

/// The image cell that window cell `tap` of a result cell reads, or -1.
DTCC_DEVICE int32_t readBy(const Convolution &p, const int32_t (&cell)[3], const int32_t (&tap)[3]) {
  int32_t at[3];
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    at[d] = cell[d] * p.strides[d] - p.low[d] + tap[d] * p.dilations[d];
    if (at[d] < 0 || at[d] >= p.image.sizes[d])
      return -1;
  }
  return p.image.cell(at[0], at[1], at[2]);
}
/// The other way: the result cell whose window cell `tap` reads an image cell, or -1.
DTCC_DEVICE int32_t readerBy(const Convolution &p, const int32_t (&cell)[3], const int32_t (&tap)[3]) {
  int32_t at[3];
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const int32_t start = cell[d] + p.low[d] - tap[d] * p.dilations[d];
    at[d] = start / p.strides[d];
    if (start < 0 || start % p.strides[d] != 0 || at[d] >= p.result.sizes[d])
      return -1;
  }
  return p.result.cell(at[0], at[1], at[2]);
}

/// Memory that a sum reads or writes: planes of `cells` per sample and group, and the step in the kernel between two
/// planes.
struct Planes {
  const Box &cells;
  int32_t planes;
  const dtcc::rt::ImageStrides &strides;
  int64_t step;
};

/// A cell of `out`, which sums over the planes of `from`, whose first one starts at `first`, and over the window.
/// `weight`: the offset in the kernel of the first plane's first window cell.
template <typename Source>
DTCC_DEVICE float sumOfWindow(const DirectConvolution &d, const Planes &from, int64_t first, int64_t weight,
                              Source source) {
  const Convolution &p = d.of;
  float sum = 0;
  for (int32_t i = 0; i < from.planes; ++i) {
    int32_t at[3], tap = 0;
    for (at[0] = 0; at[0] < p.window.sizes[0]; ++at[0])
      for (at[1] = 0; at[1] < p.window.sizes[1]; ++at[1])
        for (at[2] = 0; at[2] < p.window.sizes[2]; ++at[2], ++tap)
          if (const int32_t cell = source(at); cell >= 0)
            sum = __builtin_fmaf(cellAt(p.left, d.type, weight + i * from.step + tap * p.kernel.cell),
                                 cellAt(p.right, d.type, first + i * from.strides.channel + cell * from.strides.cell),
                                 sum);
  }
  return sum;
}

/// A thread a cell of `to`. `source`: the cell of `from` that a window cell pairs with a cell of `to`, or -1.
template <typename Source>
DTCC_DEVICE void sumInto(const DirectConvolution &p, const Planes &to, const Planes &from, Source source) {
  const Convolution &c = p.of;
  const int32_t cells = to.cells.cells();
  const int64_t i = blockX() * directThreads + threadIndex(), plane = i / cells, product = plane / to.planes;
  if (product >= static_cast<int64_t>(c.samples) * c.groups)
    return;
  const auto number = static_cast<int32_t>(i % cells);
  int32_t cell[3];
  to.cells.place(number, cell);
  const int64_t sample = product / c.groups, group = product % c.groups, channel = plane % to.planes;
  storeCell(c.out, p.type,
            sample * to.strides.sample + group * to.strides.group + channel * to.strides.channel +
                number * to.strides.cell,
            sumOfWindow(p, from, sample * from.strides.sample + group * from.strides.group,
                        group * c.kernel.group + channel * to.step,
                        [&](const int32_t (&tap)[3]) DTCC_INLINE { return source(cell, tap); }));
}

} // namespace

DTCC_KERNEL(convolution_direct, DirectConvolution, directThreads) {
  const Convolution &c = p.of;
  sumInto(p, {c.result, c.outputs, c.y, c.kernel.output}, {c.image, c.inputs, c.x, c.kernel.input},
          [&](const int32_t (&cell)[3], const int32_t (&tap)[3]) DTCC_INLINE { return readBy(c, cell, tap); });
}

DTCC_KERNEL(convolution_direct_input_grad, DirectConvolution, directThreads) {
  const Convolution &c = p.of;
  sumInto(p, {c.image, c.inputs, c.x, c.kernel.input}, {c.result, c.outputs, c.y, c.kernel.output},
          [&](const int32_t (&cell)[3], const int32_t (&tap)[3]) DTCC_INLINE { return readerBy(c, cell, tap); });
}

// A warp a cell of the kernel: its lanes share out the result cells of all samples.
DTCC_KERNEL(convolution_direct_kernel_grad, DirectConvolution, directThreads) {
  const Convolution &c = p.of;
  const int32_t window = c.window.cells(), cells = c.result.cells();
  const int64_t i = blockX() * (directThreads / warpSize) + warp();
  if (i >= static_cast<int64_t>(c.groups) * c.outputs * c.inputs * window)
    return;
  const int64_t filter = i / window, input = filter % c.inputs, output = filter / c.inputs % c.outputs,
                group = filter / c.inputs / c.outputs;
  const auto number = static_cast<int32_t>(i % window);
  int32_t tap[3];
  c.window.place(number, tap);
  float sum = 0;
  for (int64_t sample = 0; sample < c.samples; ++sample) {
    const int64_t x = sample * c.x.sample + group * c.x.group + input * c.x.channel,
                  y = sample * c.y.sample + group * c.y.group + output * c.y.channel;
    for (int32_t j = lane(); j < cells; j += warpSize) {
      int32_t cell[3];
      c.result.place(j, cell);
      if (const int32_t at = readBy(c, cell, tap); at >= 0)
        sum = __builtin_fmaf(cellAt(c.left, p.type, y + j * c.y.cell), cellAt(c.right, p.type, x + at * c.x.cell), sum);
    }
  }
  for (int mask = warpSize / 2; mask > 0; mask /= 2)
    sum += exchange(sum, mask);
  const int64_t to =
      group * c.kernel.group + output * c.kernel.output + input * c.kernel.input + number * c.kernel.cell;
  if (lane() == 0)
    storeCell(c.out, p.outType, to, c.accumulate ? cellAt(c.out, p.outType, to) + sum : sum);
}

DTCC_KERNEL(convolution_parts, ConvolutionParts, directThreads) {
  const int64_t i = blockX() * directThreads + threadIndex();
  if (i >= p.cells)
    return;
  float sum = 0;
  for (int32_t part = 0; part < p.count; ++part)
    sum += cellAt(p.parts, p.partsType, part * p.cells + i);
  storeCell(p.out, p.type, i, p.accumulate ? cellAt(p.out, p.type, i) + sum : sum);
}
