//===- Optimizers.cpp - Parameter updates in one pass -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas are those of torch.optim's single-tensor AdamW, Adam, SGD and Adagrad,
// in their order of operations.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/Simd.h"
#include "runtime/kernels/vector/Table.h"

namespace dtcc::rt::DTCC_SIMD_LEVEL {
namespace {

/// One element or one vector of elements.
template <typename T> T root(T x);
template <> inline __attribute__((always_inline)) Floats root(Floats x) { return squareRoot(x); }
template <> inline __attribute__((always_inline)) float root(float x) { return __builtin_sqrtf(x); }

template <typename T> DTCC_INLINE void adamElements(const AdamStep &s, T g, T &p, T &m, T &v) {
  g = g * s.gradScale;
  if (s.l2 != 0)
    g = p * s.l2 + g;
  p = p * s.keep;
  m = (g - m) * s.oneMinusBeta1 + m;
  v = v * s.beta2 + (g * s.oneMinusBeta2) * g;
  T denominator = root(v) / s.rootCorrection + s.eps;
  p = p - (m / denominator) * s.stepSize;
}

template <typename T> DTCC_INLINE void sgdElements(const SgdStep &s, T g, T &p, T &buffer) {
  g = g * s.gradScale;
  if (s.decay != 0)
    g = p * s.decay + g;
  if (s.momentum != 0) {
    buffer = buffer * s.momentum + g * s.dampened;
    g = s.nesterov ? buffer * s.momentum + g : buffer;
  }
  p = p - g * s.lr;
}

template <typename T> DTCC_INLINE void adagradElements(const AdagradStep &s, T g, T &p, T &sum) {
  g = g * s.gradScale;
  if (s.decay != 0)
    g = p * s.decay + g;
  sum = g * g + sum;
  p = p - (g / (root(sum) + s.eps)) * s.lr;
}

} // namespace

void adam(const AdamStep &step, int64_t n, const float *grad, float *p, float *m, float *v) {
  const AdamStep s = step;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Floats pi = load(p + i), mi = load(m + i), vi = load(v + i);
    adamElements(s, load(grad + i), pi, mi, vi);
    store(p + i, pi);
    store(m + i, mi);
    store(v + i, vi);
  }
  for (; i < n; ++i)
    adamElements(s, grad[i], p[i], m[i], v[i]);
}

void sgd(const SgdStep &step, int64_t n, const float *grad, float *p, float *buffer) {
  const SgdStep s = step;
  bool buffered = s.momentum != 0;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Floats pi = load(p + i), bi = buffered ? load(buffer + i) : broadcast(0.0f);
    sgdElements(s, load(grad + i), pi, bi);
    store(p + i, pi);
    if (buffered)
      store(buffer + i, bi);
  }
  for (; i < n; ++i) {
    float none = 0;
    sgdElements(s, grad[i], p[i], buffered ? buffer[i] : none);
  }
}

void adagrad(const AdagradStep &step, int64_t n, const float *grad, float *p, float *sum) {
  const AdagradStep s = step;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Floats pi = load(p + i), si = load(sum + i);
    adagradElements(s, load(grad + i), pi, si);
    store(p + i, pi);
    store(sum + i, si);
  }
  for (; i < n; ++i)
    adagradElements(s, grad[i], p[i], sum[i]);
}

void lion(const LionStep &step, int64_t n, const float *grad, float *p, float *m) {
  const LionStep s = step;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Floats g = load(grad + i) * s.gradScale, mi = load(m + i);
    Floats mixed = mi * s.beta1 + g * s.oneMinusBeta1;
    Floats sign = select(mixed > 0.0f, broadcast(1.0f), select(mixed < 0.0f, broadcast(-1.0f), broadcast(0.0f)));
    store(p + i, load(p + i) * s.keep - sign * s.lr);
    store(m + i, mi * s.beta2 + g * s.oneMinusBeta2);
  }
  for (; i < n; ++i) {
    float g = grad[i] * s.gradScale, mixed = m[i] * s.beta1 + g * s.oneMinusBeta1;
    float sign = mixed > 0 ? 1.0f : mixed < 0 ? -1.0f : 0.0f;
    p[i] = p[i] * s.keep - sign * s.lr;
    m[i] = m[i] * s.beta2 + g * s.oneMinusBeta2;
  }
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
