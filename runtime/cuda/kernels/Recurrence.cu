//===- Recurrence.cu - Recurrent layers, all steps in one launch
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Samples do not read each other, so a block takes one through all steps and waits for nobody. It reads the weights in
// every step, from the second cache. Forwards a warp sums a row of weights; backwards a thread sums a column.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/Recurrence.h"

using namespace dtcc::rt::cuda;
using dtcc::RecurrentCell;

namespace {

DTCC_DEVICE float logistic(float x) { return 1 / (1 + exponential(-x)); }
/// Slopes by the values of the functions.
DTCC_DEVICE float logisticSlope(float y) { return y * (1 - y); }
DTCC_DEVICE float tangentSlope(float y) { return 1 - y * y; }

/// Row `at` of [.., units] of step number i, of tensors [t, b, ..].
DTCC_DEVICE int64_t rowOf(const RecurrentLayer &layer, int64_t i) {
  return (layer.reverse ? layer.steps - 1 - i : i) * layer.samples + blockX();
}

/// The state before step number i, of `states` [t, b, h] and `start` [b, h].
DTCC_DEVICE const float *stateBefore(const RecurrentLayer &layer, int64_t i, const float *states, const float *start) {
  return i == 0 ? start + blockX() * layer.units : states + rowOf(layer, i - 1) * layer.units;
}

/// The sum of w[k] * x[k] and, with `scale`, of w[k] * x[k] * scale[k], in all lanes of the warp.
DTCC_DEVICE float warpDot(const float *w, const float *x, const float *scale, int64_t count) {
  float sum = 0;
  for (int64_t k = lane(); k < count; k += warpSize)
    sum += w[k] * (scale ? x[k] * scale[k] : x[k]);
  for (int mask = warpSize / 2; mask > 0; mask /= 2)
    sum += exchange(sum, mask);
  return sum;
}

/// The sum over rows of d[row] times column k of the weights.
DTCC_DEVICE float columnDot(const float *weight, const float *d, int64_t rows, int64_t units, int64_t k) {
  float sum = 0;
  for (int64_t row = 0; row < rows; ++row)
    sum += d[row] * weight[row * units + k];
  return sum;
}

/// One unit of one step. `sums`: the products of its gates.
DTCC_DEVICE void step(const RecurrenceForward &p, int64_t i, int64_t u, const float (&sums)[4]) {
  const RecurrentLayer &layer = p.layer;
  const int64_t row = rowOf(layer, i), n = layer.units;
  const float *projected = p.x.projected + row * layer.gates * n + u;
  float *saved = p.x.gates + row * layer.saved * n + u, *h = p.x.h + row * n + u;
  switch (layer.cell) {
  case RecurrentCell::Tanh:
    *h = saved[0] = hyperbolicTangent(projected[0] + sums[0]);
    return;
  case RecurrentCell::Relu:
    *h = saved[0] = largest(projected[0] + sums[0], 0.0f);
    return;
  case RecurrentCell::Lstm: {
    const float in = logistic(projected[0] + sums[0]), out = logistic(projected[n] + sums[1]);
    const float forget = logistic(projected[2 * n] + sums[2]), fresh = hyperbolicTangent(projected[3 * n] + sums[3]);
    const float c = forget * stateBefore(layer, i, p.x.c, p.x.cStart)[u] + in * fresh;
    saved[0] = in, saved[n] = out, saved[2 * n] = forget, saved[3 * n] = fresh;
    p.x.c[row * n + u] = c;
    *h = out * hyperbolicTangent(c);
    return;
  }
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetAfter: {
    const float before = stateBefore(layer, i, p.x.h, p.x.start)[u], update = logistic(projected[0] + sums[0]);
    float input = projected[2 * n] + sums[2];
    if (p.x.bias) {
      const float reset = logistic(projected[n] + sums[1]), product = sums[2] + p.x.bias[u];
      input = projected[2 * n] + reset * product;
      saved[n] = reset, saved[2 * n] = product;
    }
    const float fresh = hyperbolicTangent(input);
    saved[0] = update, saved[(layer.saved - 1) * n] = fresh;
    *h = (1 - update) * fresh + update * before;
    return;
  }
  }
}

/// The slopes of one unit of one step.
DTCC_DEVICE void stepGrad(const RecurrenceBackward &p, int64_t i, int64_t u) {
  const RecurrentLayer &layer = p.layer;
  const int64_t row = rowOf(layer, i), n = layer.units;
  const float *saved = p.x.gates + row * layer.saved * n + u;
  float *d = p.x.dprojected + row * layer.gates * n + u, *carried = p.x.dstart + blockX() * n + u;
  const float dh = p.x.dh[row * n + u] + *carried;
  *carried = 0;
  switch (layer.cell) {
  case RecurrentCell::Tanh:
    d[0] = dh * tangentSlope(saved[0]);
    return;
  case RecurrentCell::Relu:
    d[0] = saved[0] > 0 ? dh : 0;
    return;
  case RecurrentCell::Lstm: {
    const float in = saved[0], out = saved[n], forget = saved[2 * n], fresh = saved[3 * n];
    const float c = hyperbolicTangent(p.x.c[row * n + u]);
    float *cCarried = p.x.dcStart + blockX() * n + u;
    const float dc = *cCarried + dh * out * tangentSlope(c) + (p.x.dc ? p.x.dc[row * n + u] : 0);
    d[0] = dc * fresh * logisticSlope(in);
    d[n] = dh * c * logisticSlope(out);
    d[2 * n] = dc * stateBefore(layer, i, p.x.c, p.x.cStart)[u] * logisticSlope(forget);
    d[3 * n] = dc * in * tangentSlope(fresh);
    *cCarried = dc * forget;
    return;
  }
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetAfter: {
    const float update = saved[0], reset = saved[n], product = saved[2 * n], fresh = saved[(layer.saved - 1) * n];
    const float before = stateBefore(layer, i, p.x.h, p.x.start)[u];
    const float dupdate = dh * (before - fresh) * logisticSlope(update),
                dfresh = dh * (1 - update) * tangentSlope(fresh);
    d[0] = dupdate, d[2 * n] = dfresh;
    *carried = dh * update;
    if (p.x.dproducts) {
      float *products = p.x.dproducts + row * layer.gates * n + u;
      d[n] = products[n] = dfresh * product * logisticSlope(reset);
      products[0] = dupdate, products[2 * n] = dfresh * reset;
    }
    return;
  }
  }
}

} // namespace

DTCC_KERNEL(recurrence, RecurrenceForward, recurrenceThreads) {
  const RecurrentLayer &layer = p.layer;
  const int64_t n = layer.units;
  constexpr int warps = recurrenceThreads / warpSize;
  for (int64_t i = 0; i < layer.steps; ++i) {
    const float *before = stateBefore(layer, i, p.x.h, p.x.start);
    const int64_t row = rowOf(layer, i);
    const float *projected = p.x.projected + row * layer.gates * n;
    float *reset = p.x.gates + row * layer.saved * n + n;
    const bool resets = layer.wholeGates < layer.gates;
    for (int64_t u = warp(); resets && u < n; u += warps) {
      const float sum = warpDot(p.x.weight + (n + u) * n, before, nullptr, n);
      if (lane() == 0)
        reset[u] = logistic(projected[n + u] + sum);
    }
    if (resets)
      synchronize();
    for (int64_t u = warp(); u < n; u += warps) {
      float sums[4] = {0, 0, 0, 0};
#pragma unroll
      for (int gate = 0; gate < 4; ++gate)
        if (gate < layer.gates)
          sums[gate] = warpDot(p.x.weight + (gate * n + u) * n, before, gate < layer.wholeGates ? nullptr : reset, n);
      if (lane() == 0)
        step(p, i, u, sums);
    }
    synchronize();
  }
}

DTCC_KERNEL(recurrence_grad, RecurrenceBackward, recurrenceThreads) {
  const RecurrentLayer &layer = p.layer;
  const int64_t n = layer.units, sample = blockX() * n;
  // A thread has the same units in every loop.
  for (int64_t u = threadIndex(); u < n; u += recurrenceThreads) {
    p.x.dstart[sample + u] = 0;
    if (p.x.dcStart)
      p.x.dcStart[sample + u] = 0;
  }
  for (int64_t i = layer.steps - 1; i >= 0; --i) {
    for (int64_t u = threadIndex(); u < n; u += recurrenceThreads)
      stepGrad(p, i, u);
    synchronize();
    const int64_t row = rowOf(layer, i);
    float *d = p.x.dprojected + row * layer.gates * n;
    if (layer.wholeGates < layer.gates) {
      const float *before = stateBefore(layer, i, p.x.h, p.x.start);
      for (int64_t k = threadIndex(); k < n; k += recurrenceThreads) {
        const float read = columnDot(p.x.weight + 2 * n * n, d + 2 * n, n, n, k);
        const float reset = p.x.gates[row * layer.saved * n + n + k];
        d[n + k] = read * before[k] * logisticSlope(reset);
        p.x.dstart[sample + k] += read * reset;
      }
      synchronize();
    }
    const float *products = p.x.dproducts ? p.x.dproducts + row * layer.gates * n : d;
    for (int64_t k = threadIndex(); k < n; k += recurrenceThreads)
      p.x.dstart[sample + k] += columnDot(p.x.weight, products, layer.wholeGates * n, n, k);
  }
}
