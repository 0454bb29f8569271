//===- Math.h - Functions of f32 and f64 in kernels
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written out, since no library of device functions is linked. Every function keeps NaN.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_MATH_H
#define DTCC_RUNTIME_CUDA_KERNELS_MATH_H

#include "runtime/cuda/kernels/Device.h"

namespace dtcc::rt::cuda {

constexpr float infinity = __builtin_inff();

template <typename T> DTCC_DEVICE T least(T a, T b) { return a < b ? a : b; }
template <typename T> DTCC_DEVICE T largest(T a, T b) { return a > b ? a : b; }
/// The larger one, or NaN if one is.
DTCC_DEVICE float maximum(float a, float b) { return a > b || a != a ? a : b; }

/// e^x within 3 units in the last place; 0 where that would be denormal.
DTCC_DEVICE float exponential(float x) {
  float bounded = least(largest(x, -104.0f), 89.5f);
  // x = n ln 2 + r: adding 1.5 * 2^23 rounds to an integer, ln 2 stands in two parts.
  float n = __builtin_fmaf(bounded, 1.44269504f, 12582912.0f) - 12582912.0f;
  float r = __builtin_fmaf(n, -0x1.7f7d1cp-20f, __builtin_fmaf(n, -0x1.62e4p-1f, bounded));
  float result = exp2Approximate(r * 1.44269504f) * exp2Approximate(n);
  return x == x ? result : x;
}

/// tanh(x) within 4 units in the last place.
DTCC_DEVICE float hyperbolicTangent(float x) {
  float size = __builtin_fabsf(x), square = x * x;
  if (size < 0.3f) {
    // The series to x^11.
    float series = -0x1.226e36p-7f; // -1382/155925
    series = __builtin_fmaf(series, square, 0x1.664f48p-6f);
    series = __builtin_fmaf(series, square, -0x1.ba1ba2p-5f);
    series = __builtin_fmaf(series, square, 0x1.111112p-3f);
    series = __builtin_fmaf(series, square, -0x1.555556p-2f);
    return __builtin_fmaf(series * square, x, x);
  }
  float result = 1 - 2 / (exponential(2 * size) + 1);
  return x < 0 ? -result : result;
}

/// The natural logarithm of a positive normal number within 1e-15; -infinity of 0.
DTCC_DEVICE double logarithm(double x) {
  if (!(x > 0))
    return x == 0 ? -__builtin_inf() : __builtin_nan("");
  if (x == __builtin_inf())
    return x;
  int64_t bits = __builtin_bit_cast(int64_t, x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = __builtin_bit_cast(double, (bits & 0xfffffffffffffll) | 0x3ff0000000000000ll);
  if (mantissa > 1.4142135623730951)
    mantissa *= 0.5, ++exponent;
  // log m = 2 artanh((m - 1) / (m + 1)), |.| < 0.172: terms to the 21st power.
  double s = (mantissa - 1) / (mantissa + 1), square = s * s, sum = 0;
  for (int power = 21; power >= 3; power -= 2)
    sum = (sum + 1.0 / power) * square;
  return exponent * 0.69314718055994531 + 2 * (s + s * sum);
}

/// e^x with a relative error below 1e-15; 0 where that would be denormal. x is below 700.
DTCC_DEVICE double exponential(double x) {
  if (x < -708)
    return 0;
  // x = n ln 2 + r: adding 1.5 * 2^52 rounds to an integer, ln 2 stands in two parts.
  const double n = __builtin_fma(x, 1.4426950408889634, 0x1.8p52) - 0x1.8p52;
  const double r = __builtin_fma(n, -0x1.abc9e3b39803fp-56, __builtin_fma(n, -0x1.62e42fefa39efp-1, x));
  // The series to r^14 / 14!, |r| < 0.347.
  double series = 1;
  for (int power = 14; power >= 1; --power)
    series = __builtin_fma(series, r * (1.0 / power), 1.0);
  return series * __builtin_bit_cast(double, (static_cast<int64_t>(n) + 1023) << 52);
}

/// x to the power of a count, by squaring.
DTCC_DEVICE double powerOf(double x, int64_t count) {
  double result = 1;
  for (; count > 0; count >>= 1, x *= x)
    if (count & 1)
      result *= x;
  return result;
}

/// x to the power of any number: x is positive, and the result is below e^700.
DTCC_DEVICE double powerOf(double x, double exponent) { return exponential(exponent * logarithm(x)); }

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_MATH_H
