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
/// Bytes of channels that a thread of max_pool_grad_W_S computes.
constexpr int poolColumnBytes = 8;

/// Images [samples, channels, d, h, w] of f32, bf16 or f16, dense (planes) or with channels last, in 32-bit arithmetic.
///
///   max_pool            planes: a thread a result
///   max_pool_last       channels last: a thread a result of `unit` channels
///   max_pool_grad       either: a block a tile of dx in `tilePlanes` planes (samples and channels). It finds the
///                       largest cell of every window that touches the tile once.
///   max_pool_grad_last  channels last: a thread a cell of dx of `unit` channels, which searches each of its windows.
///                       Planes are samples of one channel for it.
///   max_pool_grad_W_S   channels last, square windows of W x W cells that are S apart, along the last two dimensions
///                       alone: a thread a column of `bandBlocks` blocks of S x S cells of dx, and a unit of
///                       poolColumnBytes. It finds the largest cells of its windows in registers, and reads each row
///                       once. There is one for each (W, S) of 2, 2; 3, 1; and 3, 2.
///
/// `unit` channels, or neighbours along w of planes of dx, are 16 aligned bytes, or one.
struct Pool {
  Box image, result;
  int32_t window[3], low[3];
  Division strides[3], dilations[3];
  Division imageCells, resultCells, channels, units; // units: of `unit` channels, or of poolColumnBytes
  int32_t planes, last, unit;
  const void *x, *dy;
  void *y; // or dx
  int32_t type;
  // max_pool_grad
  int32_t tile[3];                // cells of dx
  Box tiles, tileWindows, strips; // tiles of an image; windows of a tile, and its strips of 16 bytes along w
  Division tileCount, tilePlanes, windowCount, stripCount; // of an image, and of a tile
  // max_pool_grad_W_S
  int32_t images, bandBlocks; // images of two dimensions; blocks of a band, from the top down
  Division bands, columns;    // of an image: bands, and columns of blocks
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_POOLING_H
