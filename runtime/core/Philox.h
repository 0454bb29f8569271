//===- Philox.h - Counter-based random numbers ---------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1,
// 2, 3, SC 2011). A number depends on a key and a counter alone: keyed by seed and
// purpose and counted by global element, it is the same under every placement.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_PHILOX_H
#define DTCC_RUNTIME_CORE_PHILOX_H

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <utility>

namespace dtcc::rt {

/// Four independent words for one counter.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53u) * counter[0], b = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

/// 64-bit FNV-1a: the stream of a named purpose, the same on every machine.
inline uint64_t streamOf(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// Two 64-bit words of stream `stream` under key `seed`.
inline std::pair<uint64_t, uint64_t> randomWords(uint64_t seed, uint64_t stream, uint64_t counter) {
  auto words = philox({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                       static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                      seed);
  return {uint64_t(words[0]) << 32 | words[1], uint64_t(words[2]) << 32 | words[3]};
}

/// [0, 1) with 53 bits.
inline double toUnit(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// Element `index` of a stream of uniform numbers in [0, 1).
inline double uniformElement(uint64_t seed, uint64_t stream, uint64_t index) {
  auto [first, second] = randomWords(seed, stream, index / 2);
  return toUnit(index % 2 ? second : first);
}

/// Elements 2 * pair and 2 * pair + 1 of a stream of standard normal numbers
/// (Box and Muller, in f64).
inline std::pair<double, double> normalPair(uint64_t seed, uint64_t stream, uint64_t pair) {
  auto [first, second] = randomWords(seed, stream, pair);
  double radius = std::sqrt(-2.0 * std::log1p(-toUnit(first)));
  double angle = 2.0 * std::numbers::pi * toUnit(second);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_PHILOX_H
