//===- RecurrenceReference.cpp - The meaning of recurrent layers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Step by step and sample by sample, as runtime/abi/RecurrentCells.def defines the cells.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

static double logisticOf(double x) { return 1 / (1 + std::exp(-x)); }

namespace {
/// Sizes of a layer and where the cells of a step lie. An evaluator may run the op on a part of the samples.
struct Layer {
  int64_t steps, samples, units, gates, saved;
  bool reverse;

  Layer(const HostTensor &h, RecurrentCell cell, bool reverse)
      : steps(h.shape[0]), samples(h.shape[1]), units(h.shape[2]), gates(infoOf(cell).gates), saved(infoOf(cell).saved),
        reverse(reverse) {}

  /// The time of step number i.
  int64_t time(int64_t i) const { return reverse ? steps - 1 - i : i; }
  int64_t row(int64_t i, int64_t sample) const { return (time(i) * samples + sample) * units; }
  /// The state of a sample before step i, of `states` [t, b, h] and `start` [b, h].
  const double *before(int64_t i, int64_t sample, const HostTensor &states, const HostTensor &start) const {
    return i == 0 ? &start.floats[sample * units] : &states.floats[row(i - 1, sample)];
  }
  /// Row u of a gate's weights times x.
  double times(const HostTensor &weight, int64_t gate, int64_t u, ArrayRef<double> x) const {
    double sum = 0;
    for (int64_t k = 0; k < units; ++k)
      sum += weight.floats[(gate * units + u) * units + k] * x[k];
    return sum;
  }
};
} // namespace

LogicalResult RecurrenceOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &projected = operands[0], &weight = operands[1], &start = operands[2];
  HostTensor &h = results.front(), &gates = results.back();
  const RecurrentCell cell = getCell();
  Layer layer(h, cell, getReverse());
  const int64_t units = layer.units;
  for (int64_t i = 0; i < layer.steps; ++i)
    for (int64_t sample = 0; sample < layer.samples; ++sample) {
      const int64_t row = layer.row(i, sample);
      const double *p = &projected.floats[row * layer.gates];
      double *saved = &gates.floats[row * layer.saved];
      const ArrayRef<double> before(layer.before(i, sample, h, start), units);
      auto gate = [&](int64_t g, int64_t u) { return p[g * units + u] + layer.times(weight, g, u, before); };
      // The reset gate of a gru comes first: it scales what the last gate reads.
      SmallVector<double> read(before);
      if (cell == RecurrentCell::Gru)
        for (int64_t u = 0; u < units; ++u)
          read[u] *= logisticOf(gate(1, u));
      for (int64_t u = 0; u < units; ++u) {
        double *to = saved + u;
        double &state = h.floats[row + u];
        switch (cell) {
        case RecurrentCell::Tanh:
          state = to[0] = std::tanh(gate(0, u));
          break;
        case RecurrentCell::Relu:
          state = to[0] = std::max(0.0, gate(0, u));
          break;
        case RecurrentCell::Lstm: {
          for (int64_t g = 0; g < 4; ++g)
            to[g * units] = g < 3 ? logisticOf(gate(g, u)) : std::tanh(gate(g, u));
          double c = to[2 * units] * layer.before(i, sample, results[1], operands[3])[u] + to[0] * to[3 * units];
          results[1].floats[row + u] = c;
          state = to[units] * std::tanh(c);
          break;
        }
        case RecurrentCell::Gru:
        case RecurrentCell::GruResetAfter: {
          const double update = to[0] = logisticOf(gate(0, u)), reset = to[units] = logisticOf(gate(1, u));
          double fresh = p[2 * units + u] + layer.times(weight, 2, u, read);
          if (cell == RecurrentCell::GruResetAfter) {
            to[2 * units] = layer.times(weight, 2, u, before) + operands[3].floats[u];
            fresh = p[2 * units + u] + reset * to[2 * units];
          }
          fresh = to[(layer.saved - 1) * units] = std::tanh(fresh);
          state = (1 - update) * fresh + update * before[u];
          break;
        }
        }
      }
    }
  return success();
}

LogicalResult RecurrenceGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &dh = operands[0], &weight = operands[1], &h = operands[2], &start = operands[3],
                   &gates = operands[4];
  const RecurrentCell cell = getCell();
  Layer layer(h, cell, getReverse());
  const int64_t units = layer.units;
  const bool resetAfter = cell == RecurrentCell::GruResetAfter;
  // The gradients to h and c after the step at hand, from the steps behind it.
  SmallVector<double> carried, carriedC;
  for (int64_t sample = 0; sample < layer.samples; ++sample) {
    carried.assign(units, 0), carriedC.assign(units, 0);
    for (int64_t i = layer.steps; i-- > 0;) {
      const int64_t row = layer.row(i, sample);
      const double *saved = &gates.floats[row * layer.saved], *before = layer.before(i, sample, h, start);
      double *dp = &results[0].floats[row * layer.gates];
      double *products = resetAfter ? &results[2].floats[row * layer.gates] : dp;
      SmallVector<double> direct(units, 0);
      for (int64_t u = 0; u < units; ++u) {
        const double *from = saved + u;
        const double d = dh.floats[row + u] + carried[u];
        auto logisticSlope = [&](int64_t g) { return from[g * units] * (1 - from[g * units]); };
        auto tanhSlope = [&](int64_t g) { return 1 - from[g * units] * from[g * units]; };
        switch (cell) {
        case RecurrentCell::Tanh:
          dp[u] = d * tanhSlope(0);
          break;
        case RecurrentCell::Relu:
          dp[u] = from[0] > 0 ? d : 0;
          break;
        case RecurrentCell::Lstm: {
          const double c = std::tanh(operands[5].floats[row + u]);
          double dc = carriedC[u] + d * from[units] * (1 - c * c);
          if (operands.size() == 8)
            dc += operands[7].floats[row + u];
          dp[u] = dc * from[3 * units] * logisticSlope(0);
          dp[units + u] = d * c * logisticSlope(1);
          dp[2 * units + u] = dc * layer.before(i, sample, operands[5], operands[6])[u] * logisticSlope(2);
          dp[3 * units + u] = dc * from[0] * tanhSlope(3);
          carriedC[u] = dc * from[2 * units];
          break;
        }
        case RecurrentCell::Gru:
        case RecurrentCell::GruResetAfter: {
          const int64_t last = layer.saved - 1;
          dp[u] = d * (before[u] - from[last * units]) * logisticSlope(0);
          dp[2 * units + u] = d * (1 - from[0]) * tanhSlope(last);
          direct[u] = d * from[0];
          if (!resetAfter)
            break;
          dp[units + u] = dp[2 * units + u] * from[2 * units] * logisticSlope(1);
          products[u] = dp[u], products[units + u] = dp[units + u];
          products[2 * units + u] = dp[2 * units + u] * from[units];
          break;
        }
        }
      }
      // Columns of a gate's weights times gradients.
      auto back = [&](int64_t g, int64_t k) {
        double sum = 0;
        for (int64_t u = 0; u < units; ++u)
          sum += weight.floats[(g * units + u) * units + k] * products[g * units + u];
        return sum;
      };
      const bool resets = cell == RecurrentCell::Gru;
      for (int64_t k = 0; resets && k < units; ++k) {
        const double reset = saved[units + k], read = back(2, k);
        dp[units + k] = read * before[k] * reset * (1 - reset);
        direct[k] += read * reset;
      }
      for (int64_t k = 0; k < units; ++k) {
        carried[k] = direct[k];
        for (int64_t g = 0; g < (resets ? 2 : layer.gates); ++g)
          carried[k] += back(g, k);
      }
    }
    llvm::copy(carried, results[1].floats.begin() + sample * units);
    if (cell == RecurrentCell::Lstm)
      llvm::copy(carriedC, results[2].floats.begin() + sample * units);
  }
  return success();
}
