//===- HalfTile.h - Sizes of a tile of a product of halves
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tile sizes of HalfProduct.h, for kernels and for the code that launches them.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_HALFTILE_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_HALFTILE_H

namespace dtcc::rt::cuda {

/// A block of halfThreads threads computes a square of this size, a warp 32 x 64 of it, by steps of halfDepth.
constexpr int halfTile = 128, halfDepth = 32, halfThreads = 256;

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_HALFTILE_H
