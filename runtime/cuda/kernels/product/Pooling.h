//===- Pooling.h - Parameters of the kernels of pooling
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_POOLING_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_POOLING_H

#include "runtime/cuda/kernels/product/Convolution.h"

namespace dtcc::rt::cuda {

constexpr int poolThreads = 256;
/// Windows of a tile of max_pool_grad, whose largest cells and gradients are in shared memory.
constexpr int poolTileWindows = 4096;

/// Images [samples, channels, d, h, w] of f32, bf16 or f16, dense (planes) or with channels last, in 32-bit arithmetic.
///
///   max_pool            planes: a thread a result
///   max_pool_last       channels last: a thread a result of `unit` channels
///   max_pool_grad       either: a block a tile of dx in `tilePlanes` planes (samples and channels). It finds the
///                       largest cell of every window that touches the tile once.
///   max_pool_grad_last  channels last: a thread a cell of dx of `unit` channels, which searches each of its windows.
///                       Planes are samples of one channel for it.
///
/// `unit` channels, or neighbours along w of planes of dx, are 16 aligned bytes, or one.
struct Pool {
  Box image, result;
  int32_t window[3], low[3];
  Division strides[3], dilations[3];
  Division imageCells, resultCells, channels, units; // units: of `unit` channels
  int32_t planes, last, unit;
  const void *x, *dy;
  void *y; // or dx
  int32_t type;
  // max_pool_grad
  int32_t tile[3];                // cells of dx
  Box tiles, tileWindows, strips; // tiles of an image; windows of a tile, and its strips of 16 bytes along w
  Division tileCount, tilePlanes, windowCount, stripCount; // of an image, and of a tile
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_POOLING_H
