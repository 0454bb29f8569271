//===- HalfTile.h - Sizes of a tile of a product of halves
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tile sizes of HalfProduct.h and WideHalfProduct.h, for kernels and for the code that launches them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_HALFTILE_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_HALFTILE_H

namespace dtcc::rt::cuda {

/// A block of halfThreads threads computes a square of this size, a warp 32 x 64 of it, by steps of halfDepth.
constexpr int halfTile = 128, halfDepth = 32, halfThreads = 256;

/// A block of wideThreads threads computes wideRows x wideColumns cells, a warp 64 x 64 of them, by steps of wideDepth,
/// of which wideStages lie in shared memory. GPUs of sm_86 and sm_89 let a block have 99 KiB of it.
constexpr int wideRows = 128, wideColumns = 256, wideDepth = 32, wideStages = 4, wideThreads = 256;
constexpr int wideSharedBytes = (wideRows + wideColumns) * wideDepth * 2 * wideStages;

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_HALFTILE_H
