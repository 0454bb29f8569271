//===- Copy.h - Parameters of the kernels of strided boxes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_COPY_H
#define DTCC_RUNTIME_CUDA_KERNELS_COPY_H

#include <cstdint>

namespace dtcc::rt::cuda {

// DTCC_MAX_RANK, and the bytes of a cell.
constexpr int copyMaxRank = 17;
constexpr int copyThreads = 256;

/// Divides numbers below 2^31 by the same number, a product and a shift instead of some twenty instructions: floor(n /
/// d) = floor(n m / 2^(31 + s)), where s is the binary logarithm of d, rounded up, and m = floor(2^(31 + s) / d) + 1
/// (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994).
struct Divisor {
  uint32_t divisor = 1, multiplier = 0, shift = 0;

  /// `divisor`: 1 to 2^31.
  static constexpr Divisor of(uint32_t divisor) {
    Divisor d;
    d.divisor = divisor;
    while ((uint64_t{1} << d.shift) < divisor)
      ++d.shift;
    d.multiplier = static_cast<uint32_t>((uint64_t{1} << (31 + d.shift)) / divisor + 1);
    return d;
  }
  constexpr uint32_t quotient(uint32_t n) const {
    return static_cast<uint32_t>(static_cast<uint64_t>(n) * multiplier >> 31 >> shift);
  }
};

/// copy_N: units of N bytes of a box to another one. The innermost dimension stands last.
struct StridedBox {
  const void *from; // unused by fill_N
  void *to;
  int64_t units; // of the whole box
  int64_t sizes[copyMaxRank];
  Divisor divisors[copyMaxRank];                            // the sizes, where they are below 2^31
  int64_t fromStrides[copyMaxRank], toStrides[copyMaxRank]; // in bytes
  int32_t rank;
  uint32_t pattern[4]; // of fill_N: one unit

  /// Is to be called when sizes and units are known. An empty box has none.
  constexpr void setDivisors() {
    for (int d = 0; d < rank && units > 0 && units < int64_t{1} << 31; ++d)
      divisors[d] = Divisor::of(static_cast<uint32_t>(sizes[d]));
  }
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_COPY_H
