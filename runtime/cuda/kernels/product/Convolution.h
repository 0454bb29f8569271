//===- Convolution.h - Parameters of the kernels of convolutions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution and its gradients as products of matrices, of which one is gathered from an
// image as it is read (implicit GEMM; Chetlur et al., "cuDNN", 2014). Numbers are 32-bit:
// what does not fit is refused where a command is bound.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_CONVOLUTION_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_CONVOLUTION_H

#include "runtime/cuda/kernels/Division.h"
#include "runtime/kernels/vector/ConvolutionProblem.h"

#include <cstdint>

namespace dtcc::rt::cuda {

/// Cells of three dimensions, row-major.
struct Box {
  int32_t sizes[3];
  Division plane, row; // sizes[1] * sizes[2], sizes[2]

  static constexpr Box of(int32_t d, int32_t h, int32_t w) {
    return {{d, h, w}, Division::by(h * w > 0 ? h * w : 1), Division::by(w > 0 ? w : 1)};
  }
  constexpr int32_t cells() const { return sizes[0] * sizes[1] * sizes[2]; }
  constexpr void place(int32_t cell, int32_t (&at)[3]) const {
    at[0] = plane(cell);
    const int32_t rest = cell - at[0] * plane.value;
    at[1] = row(rest);
    at[2] = rest - at[1] * row.value;
  }
  constexpr int32_t cell(int32_t d, int32_t h, int32_t w) const { return (d * sizes[1] + h) * sizes[2] + w; }
};

/// x [samples, groups, inputs, image], kernel [groups, outputs, inputs, window], y [samples, groups, outputs,
/// result], each dense in this order or channels last (ConvolutionProblem.h), in one type. A product has rows of `left`
/// and columns that are gathered from `right`:
///
///                           rows     columns           depth             left    right  out
///   convolution             outputs  samples, result   inputs, window    kernel  x      y
///   convolution_input_grad  inputs   samples, image    outputs, window   kernel  dy     dx
///   convolution_kernel_grad outputs  inputs, window    samples, result   dy      x      dkernel
///
/// Grid: tiles, rows first; the phases of the input's gradient (Convolution.cu), or parts of the depth of the kernel's;
/// groups.
struct Convolution {
  Box image, window, result;
  int32_t strides[3], dilations[3], low[3];
  int32_t samples, groups, inputs, outputs;
  Division windowCells, resultCells;
  ImageStrides x, y;
  KernelStrides kernel;
  const void *left, *right;
  void *out;
  float *parts;       // as many kernels of f32, in the order of `out`, where the depth has several parts
  int32_t partDepth;  // of the depth, a multiple of 32
  int32_t leftChunks; // left is aligned to 16 bytes wherever 16 bytes of its depth begin
  int32_t accumulate; // the kernel's gradient is added to what is there
  int32_t outIsFloat; // the kernel's gradient is f32, whatever the operands are
};

constexpr int convolutionColumns = 128;
/// Tiles have 128 rows, or 64 where there are few. A warp has 32 rows and 64 columns of a tile.
constexpr int convolutionThreads(int rows) { return rows * 2; }

/// convolution_parts: dkernel = (accumulate ? dkernel : 0) + the parts, in their order. A thread a cell. The parts'
/// cells are in the order of dkernel's.
struct ConvolutionParts {
  int64_t cells;
  const void *parts;
  int32_t count, accumulate;
  void *out;
  int32_t type, partsType; // dtcc_dtype
};
/// convolution_direct and its gradients: a thread a cell of y or dx, a warp a cell of dkernel, each sums by itself: for
/// groups so small that a tile would be empty. `type` of all but the kernel's gradient.
struct DirectConvolution {
  Convolution of;
  int32_t type, outType; // dtcc_dtype
};
constexpr int directThreads = 256;

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_CONVOLUTION_H
