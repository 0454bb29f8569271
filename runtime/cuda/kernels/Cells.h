//===- Cells.h - Cells of f32, bf16 and f16 in memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_CELLS_H
#define DTCC_RUNTIME_CUDA_KERNELS_CELLS_H

#include "runtime/abi/dtcc_rt.h"
#include "runtime/cuda/kernels/Device.h"
#include "runtime/cuda/kernels/Vectors.h"

namespace dtcc::rt::cuda {

/// A cell of a matrix of f32, bf16 or f16 at an offset in elements.
DTCC_DEVICE float cellAt(const void *data, int32_t type, int64_t offset) {
  if (type == DTCC_F32)
    return static_cast<const float *>(data)[offset];
  if (type == DTCC_BF16)
    return static_cast<float>(static_cast<const __bf16 *>(data)[offset]);
  return static_cast<float>(static_cast<const _Float16 *>(data)[offset]);
}

DTCC_DEVICE void storeCell(void *data, int32_t type, int64_t offset, float value) {
  if (type == DTCC_F32)
    static_cast<float *>(data)[offset] = value;
  else if (type == DTCC_BF16)
    static_cast<__bf16 *>(data)[offset] = static_cast<__bf16>(value);
  else
    static_cast<_Float16 *>(data)[offset] = static_cast<_Float16>(value);
}

/// `count` neighbouring cells: one, or those of 16 aligned bytes, which are 4 of f32 or 8 of 16 bits.
template <int count> struct Cells {
  float of[count];

  static DTCC_DEVICE Cells load(const void *data, int32_t type, int64_t offset) {
    Cells cells;
    if constexpr (count == 1) {
      cells.of[0] = cellAt(data, type, offset);
      return cells;
    }
    const Unit16 unit = *static_cast<const Unit16 *>(place(data, offset));
#pragma unroll
    for (int i = 0; i < count; ++i)
      if constexpr (count == 4)
        cells.of[i] = __builtin_bit_cast(float, unit.words[i]);
      else
        cells.of[i] = ofHalf(static_cast<uint16_t>(unit.words[i / 2] >> i % 2 * 16), type);
    return cells;
  }
  DTCC_DEVICE void store(void *data, int32_t type, int64_t offset) const {
    if constexpr (count == 1)
      return storeCell(data, type, offset, of[0]);
    Unit16 unit = {};
#pragma unroll
    for (int i = 0; i < count; ++i)
      if constexpr (count == 4)
        unit.words[i] = __builtin_bit_cast(uint32_t, of[i]);
      else
        unit.words[i / 2] |= static_cast<uint32_t>(toHalf(of[i], type)) << i % 2 * 16;
    *static_cast<Unit16 *>(const_cast<void *>(place(data, offset))) = unit;
  }

private:
  static DTCC_DEVICE const void *place(const void *data, int64_t offset) {
    return static_cast<const char *>(data) + offset * (16 / count);
  }
  static DTCC_DEVICE float ofHalf(uint16_t bits, int32_t type) {
    return type == DTCC_BF16 ? static_cast<float>(__builtin_bit_cast(__bf16, bits))
                             : static_cast<float>(__builtin_bit_cast(_Float16, bits));
  }
  static DTCC_DEVICE uint16_t toHalf(float value, int32_t type) {
    return type == DTCC_BF16 ? __builtin_bit_cast(uint16_t, static_cast<__bf16>(value))
                             : __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
  }
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_CELLS_H
