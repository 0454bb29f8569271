//===- Convolution.cu - Convolution and its gradients as products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The columns that a product meets (input channel and window cell, or result cell) are not
// laid out in memory: a cell of them is looked up in the image, 0 beside it.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/TiledProduct.h"
#include "runtime/cuda/kernels/Windows.h"

using namespace dtcc::rt::cuda;
using dtcc::rt::Window;

namespace {

/// The image cell that window cell `tap` of result cell `cell` reads, or -1.
DTCC_DEVICE int64_t imageCell(const Window &w, int64_t cell, int64_t tap) {
  int64_t result = 0, scale = 1;
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    int64_t at = w.at(d, cell % w.result[d], tap % w.window[d]);
    if (at < 0 || at >= w.image[d])
      return -1;
    result += at * scale;
    scale *= w.image[d];
    cell /= w.result[d], tap /= w.window[d];
  }
  return result;
}

/// The other way: the result cell whose window cell `tap` reads image cell `cell`, or -1.
DTCC_DEVICE int64_t resultCell(const Window &w, int64_t cell, int64_t tap) {
  int64_t result = 0, scale = 1;
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    int64_t start = cell % w.image[d] + w.low[d] - tap % w.window[d] * w.dilations[d];
    int64_t at = start / w.strides[d];
    if (start < 0 || start % w.strides[d] != 0 || at >= w.result[d])
      return -1;
    result += at * scale;
    scale *= w.result[d];
    cell /= w.image[d], tap /= w.window[d];
  }
  return result;
}

} // namespace

// y[o, cell] = kernel[o, (c, tap)] * columns[(c, tap), cell], for every example and group.
DTCC_KERNEL(convolution, Convolution, productThreads) {
  const Window &w = p.window;
  const int64_t cells = w.resultCells(), taps = w.windowCells(), pixels = w.imageCells();
  for (int64_t plane = blockZ(); plane < p.examples * p.groups; plane += blocksZ()) {
    const float *x = p.x + plane * p.inputs * pixels;
    const float *kernel = p.kernel + plane % p.groups * p.outputs * p.inputs * taps;
    float *y = p.result + plane * p.outputs * cells;
    productSquare(
        blockX(), p.outputs, cells, p.inputs * taps, true, false,
        [&](int64_t o, int64_t k) { return kernel[o * p.inputs * taps + k]; },
        [&](int64_t k, int64_t cell) {
          int64_t at = imageCell(w, cell, k % taps);
          return at < 0 ? 0.0f : x[k / taps * pixels + at];
        },
        [&](int64_t o, int64_t cell, float sum) { y[o * cells + cell] = sum; });
  }
}

// dx[c, pixel] = sum over (o, tap) of kernel[o, c, tap] * dy[o, the cell that reads the pixel by this tap].
DTCC_KERNEL(convolution_input_grad, Convolution, productThreads) {
  const Window &w = p.window;
  const int64_t cells = w.resultCells(), taps = w.windowCells(), pixels = w.imageCells();
  for (int64_t plane = blockZ(); plane < p.examples * p.groups; plane += blocksZ()) {
    const float *dy = p.y + plane * p.outputs * cells;
    const float *kernel = p.kernel + plane % p.groups * p.outputs * p.inputs * taps;
    float *dx = p.result + plane * p.inputs * pixels;
    productSquare(
        blockX(), p.inputs, pixels, p.outputs * taps, true, false,
        [&](int64_t c, int64_t k) { return kernel[(k / taps * p.inputs + c) * taps + k % taps]; },
        [&](int64_t k, int64_t pixel) {
          int64_t at = resultCell(w, pixel, k % taps);
          return at < 0 ? 0.0f : dy[k / taps * cells + at];
        },
        [&](int64_t c, int64_t pixel, float sum) { dx[c * pixels + pixel] = sum; });
  }
}

// dkernel[o, (c, tap)] = sum over examples and cells of dy[o, (n, cell)] * columns[(c, tap), (n, cell)], for every
// group.
DTCC_KERNEL(convolution_kernel_grad, Convolution, productThreads) {
  const Window &w = p.window;
  const int64_t cells = w.resultCells(), taps = w.windowCells(), pixels = w.imageCells();
  for (int64_t group = blockZ(); group < p.groups; group += blocksZ()) {
    float *dkernel = p.result + group * p.outputs * p.inputs * taps;
    productSquare(
        blockX(), p.outputs, p.inputs * taps, p.examples * cells, true, true,
        [&](int64_t o, int64_t k) { return p.y[((k / cells * p.groups + group) * p.outputs + o) * cells + k % cells]; },
        [&](int64_t k, int64_t j) {
          int64_t at = imageCell(w, k % cells, j % taps);
          return at < 0 ? 0.0f : p.x[((k / cells * p.groups + group) * p.inputs + j / taps) * pixels + at];
        },
        [&](int64_t o, int64_t j, float sum) {
          float &cell = dkernel[o * p.inputs * taps + j];
          cell = p.accumulate ? cell + sum : sum;
        });
  }
}
