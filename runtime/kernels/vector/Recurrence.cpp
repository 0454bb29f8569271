//===- Recurrence.cpp - The functions of recurrent cells
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/Simd.h"
#include "runtime/kernels/vector/Table.h"

namespace dtcc::rt::DTCC_SIMD_LEVEL {
namespace {

/// Up to a vector of adjacent units, from unit `at` on.
struct Units {
  int64_t at, count;

  Floats operator()(const float *row) const {
    if (count == lanes)
      return load(row + at);
    float buffer[lanes] = {};
    for (int64_t i = 0; i < count; ++i)
      buffer[i] = row[at + i];
    return load(buffer);
  }
  void put(float *row, Floats values) const {
    if (count == lanes)
      return store(row + at, values);
    float buffer[lanes];
    store(buffer, values);
    for (int64_t i = 0; i < count; ++i)
      row[at + i] = buffer[i];
  }
};

template <typename Body> DTCC_INLINE void forEachUnit(int64_t units, const Body &body) {
  for (int64_t at = 0; at < units; at += lanes)
    body(Units{at, units - at < lanes ? units - at : lanes});
}

DTCC_INLINE Floats logistic(Floats x) {
  Floats e = exponential(-absolute(x));
  Floats large = 1.0f / (1.0f + e);
  return select(x < 0.0f, e * large, large);
}
/// Slopes by the values of the functions.
DTCC_INLINE Floats logisticSlope(Floats y) { return y * (1.0f - y); }
DTCC_INLINE Floats tangentSlope(Floats y) { return 1.0f - y * y; }

} // namespace

void recurrentReset(const RecurrentRow &r) {
  forEachUnit(r.units, [&](Units u) {
    Floats reset = logistic(u(r.gates + r.units));
    u.put(r.gates + r.units, reset);
    u.put(r.read, reset * u(r.before));
  });
}

void recurrentStep(RecurrentCell cell, const RecurrentRow &r) {
  const int64_t n = r.units;
  float *g = r.gates;
  switch (cell) {
  case RecurrentCell::Tanh:
  case RecurrentCell::Relu:
    return forEachUnit(n, [&](Units u) {
      Floats y = cell == RecurrentCell::Tanh ? hyperbolicTangent(u(g)) : max(u(g), broadcast(0.0f));
      u.put(g, y);
      u.put(r.h, y);
    });
  case RecurrentCell::Lstm:
    return forEachUnit(n, [&](Units u) {
      Floats in = logistic(u(g)), out = logistic(u(g + n)), forget = logistic(u(g + 2 * n));
      Floats fresh = hyperbolicTangent(u(g + 3 * n));
      Floats c = forget * u(r.cBefore) + in * fresh;
      u.put(g, in);
      u.put(g + n, out);
      u.put(g + 2 * n, forget);
      u.put(g + 3 * n, fresh);
      u.put(r.c, c);
      u.put(r.h, out * hyperbolicTangent(c));
    });
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetAfter:
    return forEachUnit(n, [&](Units u) {
      const bool after = cell == RecurrentCell::GruResetAfter;
      Floats update = logistic(u(g)), input = u(g + 2 * n);
      if (after) {
        Floats reset = logistic(u(g + n));
        u.put(g + n, reset);
        input = u(r.projected + 2 * n) + reset * input;
      }
      Floats fresh = hyperbolicTangent(input);
      u.put(g, update);
      u.put(g + (after ? 3 : 2) * n, fresh);
      u.put(r.h, (1.0f - update) * fresh + update * u(r.before));
    });
  }
}

void recurrentStepGrad(RecurrentCell cell, const RecurrentGradRow &r) {
  const int64_t n = r.units;
  const float *g = r.gates;
  float *d = r.dprojected;
  switch (cell) {
  case RecurrentCell::Tanh:
  case RecurrentCell::Relu:
    return forEachUnit(n, [&](Units u) {
      Floats y = u(g), dh = u(r.dh) + u(r.carried);
      u.put(d, cell == RecurrentCell::Tanh ? dh * tangentSlope(y) : select(y > 0.0f, dh, broadcast(0.0f)));
    });
  case RecurrentCell::Lstm:
    return forEachUnit(n, [&](Units u) {
      Floats in = u(g), out = u(g + n), forget = u(g + 2 * n), fresh = u(g + 3 * n), c = hyperbolicTangent(u(r.c));
      Floats dh = u(r.dh) + u(r.carried), dc = u(r.cCarried) + dh * out * tangentSlope(c);
      if (r.dc)
        dc = dc + u(r.dc);
      u.put(d, dc * fresh * logisticSlope(in));
      u.put(d + n, dh * c * logisticSlope(out));
      u.put(d + 2 * n, dc * u(r.cBefore) * logisticSlope(forget));
      u.put(d + 3 * n, dc * in * tangentSlope(fresh));
      u.put(r.cCarried, dc * forget);
    });
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetAfter:
    return forEachUnit(n, [&](Units u) {
      const bool after = cell == RecurrentCell::GruResetAfter;
      Floats update = u(g), reset = u(g + n), product = u(g + 2 * n), fresh = after ? u(g + 3 * n) : product;
      Floats dh = u(r.dh) + u(r.carried);
      Floats dupdate = dh * (u(r.before) - fresh) * logisticSlope(update);
      Floats dfresh = dh * (1.0f - update) * tangentSlope(fresh);
      u.put(d, dupdate);
      u.put(d + 2 * n, dfresh);
      u.put(r.carried, dh * update);
      if (!after)
        return;
      Floats dreset = dfresh * product * logisticSlope(reset);
      u.put(d + n, dreset);
      u.put(r.dproducts, dupdate);
      u.put(r.dproducts + n, dreset);
      u.put(r.dproducts + 2 * n, dfresh * reset);
    });
  }
}

void recurrentResetGrad(const RecurrentGradRow &r) {
  forEachUnit(r.units, [&](Units u) {
    Floats reset = u(r.gates + r.units), dread = u(r.dread);
    u.put(r.dprojected + r.units, dread * u(r.before) * logisticSlope(reset));
    u.put(r.carried, u(r.carried) + dread * reset);
  });
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
