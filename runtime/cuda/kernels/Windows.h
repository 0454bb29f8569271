//===- Windows.h - Parameters of the kernels of windows over images
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_WINDOWS_H
#define DTCC_RUNTIME_CUDA_KERNELS_WINDOWS_H

#include "runtime/kernels/Window.h"

namespace dtcc::rt::cuda {

constexpr int poolThreads = 256;

/// max_pool, max_pool_grad: a thread a cell of y or dx. Dense planes.
struct Pool {
  Window window;
  int64_t planes;
  const float *x, *dy;
  float *y; // or dx
};

/// convolution, convolution_input_grad, convolution_kernel_grad: x [n, g, c, image], kernel [g, o, c, window],
/// y [n, g, o, result], dense. Each is a product for every group, and example but for the kernel's gradient:
/// grid: tiles, 1, products.
struct Convolution {
  Window window;
  int64_t examples, groups, inputs, outputs;
  const float *x, *kernel, *y; // of these, one is the result
  float *result;
  int32_t accumulate;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_WINDOWS_H
