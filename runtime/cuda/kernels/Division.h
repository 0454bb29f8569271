//===- Division.h - Quotients by a number that stays the same
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_DIVISION_H
#define DTCC_RUNTIME_CUDA_KERNELS_DIVISION_H

#include <cstdint>

namespace dtcc::rt::cuda {

/// Divides numbers below 2^31 by the same number from 1 to 2^31 - 1: a product and a shift instead of some twenty
/// instructions (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994).
struct Division {
  int32_t value = 1;
  uint32_t factor = uint32_t{1} << 31, shift = 31;

  static constexpr Division by(int32_t value) {
    uint32_t shift = 31;
    while ((int64_t{1} << (shift - 31)) < value)
      ++shift;
    const auto divisor = static_cast<uint64_t>(value);
    return {value, static_cast<uint32_t>(((uint64_t{1} << shift) + divisor - 1) / divisor), shift};
  }
  constexpr int32_t operator()(int32_t n) const {
    return static_cast<int32_t>(static_cast<uint64_t>(static_cast<uint32_t>(n)) * factor >> shift);
  }
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_DIVISION_H
