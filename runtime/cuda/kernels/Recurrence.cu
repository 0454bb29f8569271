//===- Recurrence.cu - The functions of a recurrent layer's cells
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands between the products of states and weights, which a library computes for all samples at a time.
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

/// A unit of a sample in one step.
struct Unit {
  int64_t state;  // its place in [b, h]
  int64_t cell;   // in tensors [t, b, h]
  int64_t gates;  // the first of its gates in [t, b, gates, h]
  int64_t saved;  // the first that is saved, in [t, b, saved, h]
  int64_t before; // in [t, b, h] of the step before; -1: there is none
  bool exists;
};

DTCC_DEVICE Unit unitOf(const RecurrentLayer &layer, int64_t step) {
  const int64_t i = blockX() * recurrenceThreads + threadIndex(), n = layer.units, states = layer.samples * n;
  const int64_t time = layer.reverse ? layer.steps - 1 - step : step, earlier = layer.reverse ? time + 1 : time - 1;
  const int64_t row = time * layer.samples + i / n;
  return {i,
          time * states + i,
          row * layer.gates * n + i % n,
          row * layer.saved * n + i % n,
          step == 0 ? -1 : earlier * states + i,
          i < states};
}

/// The state before the step, of `states` [t, b, h] and `start` [b, h].
DTCC_DEVICE float before(const Unit &unit, const float *states, const float *start) {
  return unit.before < 0 ? start[unit.state] : states[unit.before];
}

} // namespace

DTCC_KERNEL(recurrence_inputs, RecurrenceForward, recurrenceThreads) {
  const RecurrentLayer &layer = p.layer;
  const int64_t n = layer.units, gates = layer.gates * n, projected = p.x.bias ? 2 * n : gates;
  const int64_t i = blockX() * recurrenceThreads + threadIndex(), row = i / gates, column = i % gates;
  if (row >= layer.steps * layer.samples)
    return;
  p.x.gates[row * layer.saved * n + column] = column < projected ? p.x.projected[i] : p.x.bias[column - projected];
}

DTCC_KERNEL(recurrence_reset, RecurrenceForward, recurrenceThreads) {
  const Unit unit = unitOf(p.layer, p.step);
  if (!unit.exists)
    return;
  float &gate = p.x.gates[unit.saved + p.layer.units];
  const float reset = gate = logistic(gate);
  p.x.read[unit.state] = reset * before(unit, p.x.h, p.x.start);
}

DTCC_KERNEL(recurrence_step, RecurrenceForward, recurrenceThreads) {
  const RecurrentLayer &layer = p.layer;
  const Unit unit = unitOf(layer, p.step);
  if (!unit.exists)
    return;
  const int64_t n = layer.units;
  float *saved = p.x.gates + unit.saved, *h = p.x.h + unit.cell;
  switch (layer.cell) {
  case RecurrentCell::Tanh:
    *h = saved[0] = hyperbolicTangent(saved[0]);
    return;
  case RecurrentCell::Relu:
    *h = saved[0] = largest(saved[0], 0.0f);
    return;
  case RecurrentCell::Lstm: {
    const float in = logistic(saved[0]), out = logistic(saved[n]);
    const float forget = logistic(saved[2 * n]), fresh = hyperbolicTangent(saved[3 * n]);
    const float c = forget * before(unit, p.x.c, p.x.cStart) + in * fresh;
    saved[0] = in, saved[n] = out, saved[2 * n] = forget, saved[3 * n] = fresh;
    p.x.c[unit.cell] = c;
    *h = out * hyperbolicTangent(c);
    return;
  }
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetAfter: {
    const float update = logistic(saved[0]);
    float input = saved[2 * n];
    if (p.x.bias) { // the reset gate weighs the product, which is saved
      const float reset = saved[n] = logistic(saved[n]);
      input = p.x.projected[unit.gates + 2 * n] + reset * input;
    }
    const float fresh = hyperbolicTangent(input);
    saved[0] = update, saved[(layer.saved - 1) * n] = fresh;
    *h = (1 - update) * fresh + update * before(unit, p.x.h, p.x.start);
    return;
  }
  }
}

DTCC_KERNEL(recurrence_step_grad, RecurrenceBackward, recurrenceThreads) {
  const RecurrentLayer &layer = p.layer;
  const Unit unit = unitOf(layer, p.step);
  if (!unit.exists)
    return;
  const int64_t n = layer.units;
  const bool isLast = p.step == layer.steps - 1; // nothing is carried yet
  const float *saved = p.x.gates + unit.saved;
  float *d = p.x.dprojected + unit.gates, *carried = p.x.dstart + unit.state;
  const float dh = p.x.dh[unit.cell] + (isLast ? 0 : *carried);
  switch (layer.cell) {
  case RecurrentCell::Tanh:
    d[0] = dh * tangentSlope(saved[0]);
    return;
  case RecurrentCell::Relu:
    d[0] = saved[0] > 0 ? dh : 0;
    return;
  case RecurrentCell::Lstm: {
    const float in = saved[0], out = saved[n], forget = saved[2 * n], fresh = saved[3 * n];
    const float c = hyperbolicTangent(p.x.c[unit.cell]);
    float *cCarried = p.x.dcStart + unit.state;
    const float dc = (isLast ? 0 : *cCarried) + dh * out * tangentSlope(c) + (p.x.dc ? p.x.dc[unit.cell] : 0);
    // Gates may lie where their gradients are written: all are read by now.
    d[0] = dc * fresh * logisticSlope(in);
    d[n] = dh * c * logisticSlope(out);
    d[2 * n] = dc * before(unit, p.x.c, p.x.cStart) * logisticSlope(forget);
    d[3 * n] = dc * in * tangentSlope(fresh);
    *cCarried = dc * forget;
    return;
  }
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetAfter: {
    const float update = saved[0], reset = saved[n], product = saved[2 * n], fresh = saved[(layer.saved - 1) * n];
    const float state = before(unit, p.x.h, p.x.start);
    const float dupdate = dh * (state - fresh) * logisticSlope(update);
    const float dfresh = dh * (1 - update) * tangentSlope(fresh);
    d[0] = dupdate, d[2 * n] = dfresh;
    *carried = dh * update;
    if (p.x.dproducts) {
      float *products = p.x.dproducts + unit.gates;
      d[n] = products[n] = dfresh * product * logisticSlope(reset);
      products[0] = dupdate, products[2 * n] = dfresh * reset;
    }
    return;
  }
  }
}

DTCC_KERNEL(recurrence_reset_grad, RecurrenceBackward, recurrenceThreads) {
  const Unit unit = unitOf(p.layer, p.step);
  if (!unit.exists)
    return;
  const int64_t n = p.layer.units;
  const float read = p.x.read[unit.state], reset = p.x.gates[unit.saved + n];
  p.x.dprojected[unit.gates + n] = read * before(unit, p.x.h, p.x.start) * logisticSlope(reset);
  p.x.dstart[unit.state] += read * reset;
}
