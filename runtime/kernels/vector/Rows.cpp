//===- Rows.cpp - Softmax statistics and sums over rows -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/Simd.h"
#include "runtime/kernels/vector/Table.h"

extern "C" double exp(double);

namespace dtcc::rt::DTCC_SIMD_LEVEL {
namespace {

typedef float HalfFloats __attribute__((ext_vector_type(lanes / 2)));

/// Elements whose exponentials are summed in f32 before the sum is widened: the
/// chunk is read twice and stays in the first cache.
constexpr int64_t chunk = 1024;

/// The last n < lanes elements, filled up with `rest`.
DTCC_INLINE Floats loadTail(const float *x, int64_t n, float rest) {
  float buffer[lanes];
  for (int64_t i = 0; i < lanes; ++i)
    buffer[i] = i < n ? x[i] : rest;
  return load(buffer);
}

float largestOf(const float *x, int64_t n) {
  Floats best[4];
  for (Floats &b : best)
    b = broadcast(-__builtin_inff());
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (int u = 0; u < 4; ++u)
      best[u] = max(load(x + i + u * lanes), best[u]);
  for (; i + lanes <= n; i += lanes)
    best[0] = max(load(x + i), best[0]);
  if (i < n)
    best[0] = max(loadTail(x + i, n - i, -__builtin_inff()), best[0]);
  return horizontalMax(max(max(best[0], best[1]), max(best[2], best[3])));
}

double sumOfExponentials(const float *x, int64_t n, float shift) {
  Floats sum[4];
  for (Floats &s : sum)
    s = broadcast(0.0f);
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (int u = 0; u < 4; ++u)
      sum[u] += exponential(load(x + i + u * lanes) - shift);
  for (; i + lanes <= n; i += lanes)
    sum[0] += exponential(load(x + i) - shift);
  if (i < n)
    sum[1] += exponential(loadTail(x + i, n - i, -__builtin_inff()) - shift);
  return wideSum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

} // namespace

void rowStatistics(const float *x, int64_t n, float *largest, double *sum) {
  float top = -__builtin_inff();
  double total = 0;
  for (int64_t i = 0; i < n; i += chunk) {
    int64_t length = n - i < chunk ? n - i : chunk;
    float here = largestOf(x + i, length);
    if (here > top) {
      total *= exp((double)top - (double)here);
      top = here;
    }
    // If all cells so far are -inf, any finite shift gives zeros.
    total += sumOfExponentials(x + i, length, top == -__builtin_inff() ? 0.0f : top);
  }
  *largest = top;
  *sum = total;
}

void shiftedExponential(const float *x, int64_t n, float shift, float *y) {
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes)
    for (int u = 0; u < 2; ++u)
      store(y + i + u * lanes, exponential(load(x + i + u * lanes) - shift));
  for (; i < n; i += lanes) {
    int64_t length = n - i < lanes ? n - i : lanes;
    float buffer[lanes];
    store(buffer, exponential(loadTail(x + i, length, 0.0f) - shift));
    for (int64_t j = 0; j < length; ++j)
      y[i + j] = buffer[j];
  }
}

double sumSquares(const float *x, int64_t n) {
  Doubles sum[4];
  for (Doubles &s : sum)
    s = Doubles(0.0);
  int64_t i = 0;
  const int64_t half = lanes / 2;
  for (; i + 4 * half <= n; i += 4 * half)
    for (int u = 0; u < 4; ++u) {
      HalfFloats part;
      __builtin_memcpy(&part, x + i + u * half, sizeof part);
      Doubles wide = __builtin_convertvector(part, Doubles);
      sum[u] += wide * wide;
    }
  double total = 0;
  Doubles all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  for (int l = 0; l < half; ++l)
    total += all[l];
  for (; i < n; ++i)
    total += (double)x[i] * (double)x[i];
  return total;
}

void addTo(float *to, const float *from, int64_t n) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(to + i, load(to + i) + load(from + i));
  for (; i < n; ++i)
    to[i] += from[i];
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
