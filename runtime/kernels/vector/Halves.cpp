//===- Halves.cpp - bf16 and f16 to f32 and back -------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas of runtime/core/HalfFloat.h, many at a time: the same bits with every
// instruction set, denormals included.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/Simd.h"
#include "runtime/kernels/vector/Table.h"

namespace dtcc::rt::DTCC_SIMD_LEVEL {
namespace {

typedef uint16_t Shorts __attribute__((ext_vector_type(lanes)));
typedef uint32_t Words __attribute__((ext_vector_type(lanes)));

DTCC_INLINE Words pick(Ints mask, Words a, Words b) { return mask ? a : b; }
DTCC_INLINE Words bitsOf(Floats x) { return __builtin_bit_cast(Words, x); }
DTCC_INLINE Floats floatOf(Words x) { return __builtin_bit_cast(Floats, x); }

struct BF16 {
  static Floats widen(Shorts bits) { return floatOf(__builtin_convertvector(bits, Words) << 16); }
  static Shorts narrow(Floats value) {
    Words bits = bitsOf(value);
    Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16, nan = (bits >> 16) | 0x40u;
    return __builtin_convertvector(pick((bits & 0x7fffffffu) > 0x7f800000u, nan, rounded), Shorts);
  }
};

struct F16 {
  static Floats widen(Shorts half) {
    Words bits = __builtin_convertvector(half, Words), magnitude = (bits & 0x7fffu) << 13;
    Words scaled = bitsOf(floatOf(magnitude) * 0x1p112f), special = magnitude | 0x7f800000u;
    return floatOf(pick((bits & 0x7c00u) == 0x7c00u, special, scaled) | ((bits & 0x8000u) << 16));
  }
  static Shorts narrow(Floats value) {
    Words bits = bitsOf(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    Words normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    Words denormal = bitsOf(floatOf(magnitude) + 0.5f) - bitsOf(broadcast(0.5f));
    Words result = pick(magnitude < 0x38800000u, denormal, normal);
    result = pick(magnitude >= 0x477ff000u, Words(0x7c00u), result);
    result = pick(magnitude > 0x7f800000u, Words(0x7e00u), result);
    return __builtin_convertvector(result | sign, Shorts);
  }
};

template <typename Half> void widenAll(const void *from, int64_t n, float *to) {
  const uint16_t *source = static_cast<const uint16_t *>(from);
  int64_t i = 0;
  for (; i < n; i += lanes) {
    int64_t left = n - i < lanes ? n - i : lanes;
    Shorts bits = Shorts(0);
    __builtin_memcpy(&bits, source + i, left < lanes ? (size_t)left * sizeof(uint16_t) : sizeof bits);
    Floats value = Half::widen(bits);
    __builtin_memcpy(to + i, &value, left < lanes ? (size_t)left * sizeof(float) : sizeof value);
  }
}

template <typename Half> void narrowAll(const float *from, int64_t n, void *to) {
  uint16_t *target = static_cast<uint16_t *>(to);
  for (int64_t i = 0; i < n; i += lanes) {
    int64_t left = n - i < lanes ? n - i : lanes;
    Floats value = broadcast(0.0f);
    __builtin_memcpy(&value, from + i, left < lanes ? (size_t)left * sizeof(float) : sizeof value);
    Shorts bits = Half::narrow(value);
    __builtin_memcpy(target + i, &bits, left < lanes ? (size_t)left * sizeof(uint16_t) : sizeof bits);
  }
}

} // namespace

void widen(dtcc_dtype half, const void *from, int64_t n, float *to) {
  (half == DTCC_BF16 ? widenAll<BF16> : widenAll<F16>)(from, n, to);
}

void narrow(dtcc_dtype half, const float *from, int64_t n, void *to) {
  (half == DTCC_BF16 ? narrowAll<BF16> : narrowAll<F16>)(from, n, to);
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
