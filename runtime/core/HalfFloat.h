//===- HalfFloat.h - bf16 and f16 to float and back ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions of the two 16-bit float types, written so that compilers vectorize
// them. Both round to nearest even and keep NaN and infinity.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CORE_HALFFLOAT_H
#define DTCC_RUNTIME_CORE_HALFFLOAT_H

#include <bit>
#include <cstdint>

namespace dtcc::rt {

inline float fromBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

inline uint16_t toBF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

inline float fromF16(uint16_t bits) {
  // The exponent is rebased by a multiplication, which also normalises denormals.
  uint32_t magnitude = uint32_t(bits & 0x7fffu) << 13;
  uint32_t scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  uint32_t special = magnitude | 0x7f800000u;
  uint32_t result = (bits & 0x7c00u) == 0x7c00u ? special : scaled;
  return std::bit_cast<float>(result | (uint32_t(bits & 0x8000u) << 16));
}

inline uint16_t toF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  // Normal results: round the 13 dropped bits to even, rebase the exponent.
  uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  // Denormal results: adding 1/2 (whose last place is 2^-24) lets the FPU round.
  uint32_t denormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  uint32_t result = magnitude < 0x38800000u ? denormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result; // rounds to infinity from 65520
  result = magnitude > 0x7f800000u ? 0x7e00u : result;
  return static_cast<uint16_t>(result | sign);
}

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_CORE_HALFFLOAT_H
