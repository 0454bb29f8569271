//===- Vectors.h - Vectors as kernels read them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_VECTORS_H
#define DTCC_RUNTIME_CUDA_KERNELS_VECTORS_H

#include <cstdint>

namespace dtcc::rt::cuda {

/// Largest unit that one memory access moves.
struct alignas(16) Unit16 {
  uint32_t words[4];
};

/// A vector of i64 or i32; the stride in elements.
struct Integers {
  const void *data;
  int64_t stride;
  int32_t wide; // i64, else i32

#ifdef __CUDA__
  __attribute__((device)) int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t *>(data)[i * stride] : static_cast<const int32_t *>(data)[i * stride];
  }
#endif
};

/// A strided vector of f32.
struct FloatVector {
  float *data;
  int64_t stride;

#ifdef __CUDA__
  __attribute__((device)) float &operator[](int64_t i) const { return data[i * stride]; }
#endif
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_VECTORS_H
