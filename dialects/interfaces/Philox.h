//===- Philox.h - The random numbers of a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): a
// counter-based generator, so a cell's number depends on what it belongs to and not on
// who computes it or when. The runtime has the same function; tests hold both to the
// published vectors.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_PHILOX_H
#define DTCC_DIALECTS_INTERFACES_PHILOX_H

#include <array>
#include <cstdint>

namespace dtcc {

/// The block of four words for a counter and a key.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53u) * counter[0], second = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// The first word of cell `element` (index in the whole tensor) of the random op `id`, in step `step`.
inline uint32_t philoxWord(uint64_t seed, int64_t id, uint64_t element, uint64_t step) {
  return philox({uint32_t(element), uint32_t(element >> 32), uint32_t(step), uint32_t(step >> 32)},
                {uint32_t(seed), uint32_t(id)})[0];
}

/// A uniform number in [0, 1): the upper 24 bits of the word.
inline double philoxUniform(uint64_t seed, int64_t id, uint64_t element, uint64_t step) {
  return (philoxWord(seed, id, element, step) >> 8) * 0x1p-24;
}

/// A uniform number in (0, 1): the upper 23 bits of the word and a half. It is symmetric about 1/2, and exact in f32.
inline double philoxBetween(uint64_t seed, int64_t id, uint64_t element, uint64_t step) {
  return ((philoxWord(seed, id, element, step) >> 9) + 0.5) * 0x1p-23;
}

} // namespace dtcc

#endif // DTCC_DIALECTS_INTERFACES_PHILOX_H
