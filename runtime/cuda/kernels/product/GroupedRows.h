//===- GroupedRows.h - The squares of rows that pick a matrix
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_GROUPEDROWS_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_GROUPEDROWS_H

#include "runtime/cuda/kernels/product/GroupedProduct.h"
#include "runtime/cuda/kernels/product/TiledProduct.h"

namespace dtcc::rt::cuda {

/// The group that block x works for, and which of its rows.
struct GroupSquare {
  int64_t group = -1; // -1: there is nothing left to do
  int64_t first = 0, count = 0, row = 0;

  static DTCC_DEVICE GroupSquare of(const GroupedProduct &p, int64_t tile) {
    int64_t block = blockX();
    for (int64_t group = 0; group < p.groups; ++group) {
      const int64_t count = p.begin[group + 1] - p.begin[group], blocks = (count + tile - 1) / tile;
      if (block < blocks)
        return {group, p.begin[group], count, block * tile};
      block -= blocks;
    }
    return {};
  }
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_GROUPEDROWS_H
