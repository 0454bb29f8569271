//===- Simd.h - Vectors of floats of one instruction set -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The files of this folder are compiled once for each instruction set (see
// CMakeLists.txt) into a namespace of its own, DTCC_SIMD_LEVEL; Select.cpp picks
// one at start by what the processor has. Code that the linker could merge
// across instruction sets must not be in these files: they include no header
// with inline functions, the standard library's included.
//
// Vectors are the compiler's own (ext_vector_type), so that any processor that
// clang knows runs this code. A product and a sum in one expression are fused
// where the processor can.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_SIMD_H
#define DTCC_RUNTIME_KERNELS_VECTOR_SIMD_H

#include <stddef.h>
#include <stdint.h>

#ifndef DTCC_SIMD_LEVEL
#error "define DTCC_SIMD_LEVEL as the namespace of this instruction set"
#endif
#define DTCC_INLINE static inline __attribute__((always_inline))

namespace dtcc::rt::DTCC_SIMD_LEVEL {

#if defined(__AVX512F__)
constexpr int lanes = 16;
/// Largest register block: rows times vectors accumulators must stay in registers.
constexpr int tileRows = 6, tileVectors = 4;
#elif defined(__AVX__)
constexpr int lanes = 8;
constexpr int tileRows = 6, tileVectors = 2;
#else
constexpr int lanes = 4;
constexpr int tileRows = 6, tileVectors = 2;
#endif

typedef float Floats __attribute__((ext_vector_type(lanes)));
typedef int32_t Ints __attribute__((ext_vector_type(lanes)));
typedef uint8_t Bytes __attribute__((ext_vector_type(lanes)));
typedef double Doubles __attribute__((ext_vector_type(lanes / 2)));

DTCC_INLINE Floats load(const float *p) {
  Floats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
DTCC_INLINE void store(float *p, Floats v) { __builtin_memcpy(p, &v, sizeof v); }
DTCC_INLINE Ints load(const int32_t *p) {
  Ints v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
DTCC_INLINE Floats broadcast(float x) { return Floats(x); }
/// Lanes where `mask` (0 or -1) is set from `a`, else from `b`.
DTCC_INLINE Floats select(Ints mask, Floats a, Floats b) { return mask ? a : b; }
/// The larger; `b` where either is NaN.
DTCC_INLINE Floats max(Floats a, Floats b) { return a > b ? a : b; }
DTCC_INLINE Floats absolute(Floats x) {
  return __builtin_bit_cast(Floats, __builtin_bit_cast(Ints, x) & Ints(0x7fffffff));
}
DTCC_INLINE Floats squareRoot(Floats x) { return __builtin_elementwise_sqrt(x); }

DTCC_INLINE float horizontalSum(Floats v) {
  float parts[lanes];
  store(parts, v);
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i)
      parts[i] += parts[i + half];
  return parts[0];
}
DTCC_INLINE float horizontalMax(Floats v) {
  float parts[lanes];
  store(parts, v);
  float best = parts[0];
  for (int i = 1; i < lanes; ++i)
    best = parts[i] > best ? parts[i] : best;
  return best;
}
/// The sum of all lanes in f64.
DTCC_INLINE double wideSum(Floats v) {
  float parts[lanes];
  store(parts, v);
  double sum = 0;
  for (int i = 0; i < lanes; ++i)
    sum += parts[i];
  return sum;
}

/// e^x for x <= 88, within 2 units in the last place; 0 below -87.3 (results
/// that would be denormal), NaN of NaN. Larger x are not supported.
/// Range reduction by two parts of ln 2 and the minimax polynomial of Cephes'
/// expf (Moshier).
DTCC_INLINE Floats exponential(Floats x) {
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum.
  const float magic = 12582912.0f;
  Floats shifted = x * 1.44269504088896341f + magic;
  Floats n = shifted - magic;
  Floats r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  Floats y = (r * r) * p + r;
  y = y + 1.0f;
  // 2^n by its exponent bits; the magic constant's own bits leave the top.
  Ints power = (__builtin_bit_cast(Ints, shifted) << 23) + 0x3f800000;
  y = y * __builtin_bit_cast(Floats, power);
  return select(x < -87.33f, broadcast(0.0f), y);
}

/// tanh x within 4 units in the last place (Cephes' tanhf).
DTCC_INLINE Floats hyperbolicTangent(Floats x) {
  Floats a = absolute(x);
  Floats clamped = a > 20.0f ? broadcast(20.0f) : a;
  Floats large = 1.0f - 2.0f / (exponential(clamped + clamped) + 1.0f);
  large = select(x < 0.0f, -large, large);
  Floats z = x * x;
  Floats p = z * -5.70498872745e-3f + 2.06390887954e-2f;
  p = p * z + -5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z + -3.33332819422e-1f;
  Floats small = (z * x) * p + x;
  return select(a < 0.625f, small, large);
}

/// Interleaves the lanes: the first vector's and second vector's low (high)
/// halves, alternating.
template <int... I> struct Indices {};
template <int N, int... I> struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I> struct MakeIndices<0, I...> {
  typedef Indices<I...> Type;
};
template <int... I> DTCC_INLINE Floats zipLow(Floats a, Floats b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (I % 2 ? lanes + I / 2 : I / 2)...);
}
template <int... I> DTCC_INLINE Floats zipHigh(Floats a, Floats b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (I % 2 ? lanes + lanes / 2 + I / 2 : lanes / 2 + I / 2)...);
}

/// to[c][r] = scale * from[r][c] for lanes x lanes elements; rows are `fromStride`
/// and `toStride` elements apart and contiguous.
DTCC_INLINE void transposeSquare(const float *from, int64_t fromStride, float *to, int64_t toStride, float scale) {
  typedef typename MakeIndices<lanes>::Type All;
  Floats rows[lanes], next[lanes];
  for (int i = 0; i < lanes; ++i)
    rows[i] = load(from + i * fromStride) * scale;
  // log2(lanes) perfect shuffles of the rows transpose the square.
#pragma clang loop unroll(full)
  for (int round = 1; round < lanes; round *= 2) {
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes / 2; ++i) {
      next[2 * i] = zipLow(rows[i], rows[i + lanes / 2], All());
      next[2 * i + 1] = zipHigh(rows[i], rows[i + lanes / 2], All());
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      rows[i] = next[i];
  }
  for (int i = 0; i < lanes; ++i)
    store(to + i * toStride, rows[i]);
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL

#endif // DTCC_RUNTIME_KERNELS_VECTOR_SIMD_H
