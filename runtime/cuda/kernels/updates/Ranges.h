//===- Ranges.h - Ranges of the cells of a share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_UPDATES_RANGES_H
#define DTCC_RUNTIME_CUDA_KERNELS_UPDATES_RANGES_H

#include "runtime/cuda/kernels/Device.h"

namespace dtcc::rt::cuda {

/// The first of `count` ascending numbers end(0), end(1), .. that is larger than `begin`; `count` if there is none.
template <typename End> DTCC_DEVICE int64_t firstEndBehind(int64_t count, int64_t begin, End end) {
  int64_t first = 0, high = count;
  while (first < high) {
    const int64_t middle = (first + high) / 2;
    if (end(middle) <= begin)
      first = middle + 1;
    else
      high = middle;
  }
  return first;
}

/// The first of `count` ascending ranges that ends behind `begin`; their number if there is none.
template <typename Range> DTCC_DEVICE int64_t firstRangeBehind(const Range *ranges, int64_t count, int64_t begin) {
  return firstEndBehind(count, begin, [ranges](int64_t i) { return ranges[i].end; });
}

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_UPDATES_RANGES_H
