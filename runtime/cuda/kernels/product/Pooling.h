//===- Pooling.h - Parameters of the kernels of pooling
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_POOLING_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_POOLING_H

#include "runtime/kernels/vector/Window.h"

namespace dtcc::rt::cuda {

constexpr int poolThreads = 256;

/// max_pool, max_pool_grad: a thread a cell of y or dx. Dense planes of one type: f32, bf16 or f16.
struct Pool {
  Window window;
  int64_t planes;
  const void *x, *dy;
  void *y; // or dx
  int32_t type;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_POOLING_H
