//===- ProductEpilogue.h - Parameters of what follows products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel has three forms, by how many neighbours of a row a thread takes at
// once: 1, or as many as 16 bytes hold. These are 4 of f32 (`_4`) and 8 of halves (`_8`), if rows begin
// at multiples of 16 bytes and columns divide by that.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_PRODUCTEPILOGUE_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_PRODUCTEPILOGUE_H

#include <cstdint>
#include <initializer_list>

namespace dtcc::rt::cuda {

/// product_epilogue: cells of a product become what matmul_epilogue stores (LibraryOps.def), where no library does it
/// in passing; g is 1 unless all that follows is a bias. Grid: cells, or what a thread takes of them.
struct ProductEpilogue {
  int64_t g, m, n;
  void *out, *kept;                                        // kept: or null
  const void *bias, *at;                                   // or null
  int64_t outStrides[3], biasStride, keptStride, atStride; // of rows
  int32_t type, biasType;                                  // dtcc_dtype
  int64_t activation;                                      // ProductActivation
};
constexpr int epilogueThreads = 256;

/// product_sums: sums[n] = (accumulate ? sums : 0) + sum of rows[k, n] over k, in f64. A block for 32 columns, or 32
/// times what a thread takes, and `depth` rows. With more than one such part, part y's sums go to parts[y, n], and
/// product_sums_parts adds these in their order, a thread a column.
struct ProductSums {
  int64_t k, n;
  const void *rows;
  int64_t strides[2], sumsStride;
  void *sums;
  double *parts;          // or null
  int64_t depth;          // rows of a part
  int32_t type, sumsType; // dtcc_dtype
  int32_t accumulate;
};
constexpr int sumsColumns = 32, sumsThreads = 256;

/// Parts that fill a GPU, of depths that are worth it, and not so many that to add them up takes long; the same on
/// every GPU.
constexpr int64_t sumsParts(int64_t columnBlocks, int64_t k) {
  constexpr int64_t enoughBlocks = 512, leastDepth = 128, mostParts = 64;
  int64_t parts = columnBlocks > 0 ? enoughBlocks / columnBlocks : 1;
  for (int64_t most : {mostParts, k / leastDepth})
    parts = parts < most ? parts : most;
  return parts > 1 ? parts : 1;
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_PRODUCTEPILOGUE_H
