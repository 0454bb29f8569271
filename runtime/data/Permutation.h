//===- Permutation.h - A keyed order of samples -------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--shuffle`: a pseudo-random permutation of [0, count) that is computed for each
// index by itself (a Feistel network over the next power of four, walked until the
// result lies in range), so no table is kept, any rank can compute any place, and the
// order does not depend on the plan.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_PERMUTATION_H
#define DTCC_RUNTIME_DATA_PERMUTATION_H

#include "runtime/core/Philox.h"

namespace dtcc::rt {

class Permutation {
public:
  /// One order for each seed and epoch.
  Permutation(int64_t count, uint64_t seed, uint64_t epoch)
      : count(static_cast<uint64_t>(count)), seed(seed), epoch(epoch) {
    while ((uint64_t(1) << (2 * halfBits)) < this->count)
      ++halfBits;
  }

  /// Sample at index i of the order; 0 <= i < count.
  int64_t operator()(int64_t i) const {
    auto value = static_cast<uint64_t>(i);
    do
      value = scramble(value);
    while (value >= count);
    return static_cast<int64_t>(value);
  }

private:
  uint64_t scramble(uint64_t value) const {
    uint64_t mask = (uint64_t(1) << halfBits) - 1;
    uint64_t left = value >> halfBits, right = value & mask;
    for (uint32_t round = 0; round < 6; ++round) {
      auto words = philox(
          {static_cast<uint32_t>(right), round, static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32)},
          seed);
      uint64_t next = left ^ (words[0] & mask);
      left = right;
      right = next;
    }
    return left << halfBits | right;
  }

  uint64_t count, seed, epoch;
  int halfBits = 1;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_PERMUTATION_H
