//===- Copy.h - Parameters of the kernels of strided boxes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_COPY_H
#define DTCC_RUNTIME_CUDA_KERNELS_COPY_H

#include "runtime/cuda/kernels/Division.h"

#include <cstdint>

namespace dtcc::rt::cuda {

// DTCC_MAX_RANK, and the bytes of a cell.
constexpr int copyMaxRank = 17;
constexpr int copyThreads = 256;

/// copy_N: units of N bytes of a box to another one. The innermost dimension stands last.
struct StridedBox {
  const void *from; // unused by fill_N
  void *to;
  int64_t units; // of the whole box
  int64_t sizes[copyMaxRank];
  Division divisions[copyMaxRank];                          // the sizes, where they are below 2^31
  int64_t fromStrides[copyMaxRank], toStrides[copyMaxRank]; // in bytes
  int32_t rank;
  uint32_t pattern[4]; // of fill_N: one unit

  /// Is to be called when sizes and units are known. An empty box needs none.
  constexpr void setDivisions() {
    for (int d = 0; d < rank && units > 0 && units < int64_t{1} << 31; ++d)
      divisions[d] = Division::by(static_cast<int32_t>(sizes[d]));
  }
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_COPY_H
