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

namespace {
/// Goes back through the steps of a layer, sample by sample.
class LayerGradient {
public:
  LayerGradient(RecurrenceGradOp op, Operands operands, Results results)
      : operands(operands), results(results), cell(op.getCell()), layer(operands[2], cell, op.getReverse()),
        units(layer.units) {}

  void run() {
    for (int64_t sample = 0; sample < layer.samples; ++sample) {
      carried.assign(units, 0), carriedC.assign(units, 0);
      for (int64_t i = layer.steps; i-- > 0;) {
        const Step step = stepAt(i, sample);
        direct.assign(units, 0);
        for (int64_t u = 0; u < units; ++u)
          differentiateUnit(step, u);
        if (cell == RecurrentCell::Gru)
          differentiateReset(step);
        carry(step);
      }
      llvm::copy(carried, results[1].floats.begin() + sample * units);
      if (cell == RecurrentCell::Lstm)
        llvm::copy(carriedC, results[2].floats.begin() + sample * units);
    }
  }

private:
  struct Step {
    int64_t number, sample, row;
    /// Results of the gates, and the state before the step.
    const double *saved, *before;
    /// Gradients to the projected inputs of the gates, and to the products of weights with the state. They are the same
    /// unless a gate resets a product.
    double *dp, *products;
  };
  Step stepAt(int64_t i, int64_t sample) {
    const int64_t row = layer.row(i, sample);
    double *dp = &results[0].floats[row * layer.gates];
    return {i,
            sample,
            row,
            &operands[4].floats[row * layer.saved],
            layer.before(i, sample, operands[2], operands[3]),
            dp,
            cell == RecurrentCell::GruResetAfter ? &results[2].floats[row * layer.gates] : dp};
  }

  static double logisticSlope(double y) { return y * (1 - y); }
  static double tanhSlope(double y) { return 1 - y * y; }

  /// Gradients to the gates of a unit, but for the reset gate of a gru: what that scales is read by all units.
  void differentiateUnit(const Step &step, int64_t u) {
    const double y = step.saved[u], d = operands[0].floats[step.row + u] + carried[u];
    switch (cell) {
    case RecurrentCell::Tanh:
      step.dp[u] = d * tanhSlope(y);
      return;
    case RecurrentCell::Relu:
      step.dp[u] = y > 0 ? d : 0;
      return;
    case RecurrentCell::Lstm:
      return differentiateLstm(step, u, d);
    case RecurrentCell::Gru:
    case RecurrentCell::GruResetAfter:
      return differentiateGru(step, u, d);
    }
  }

  void differentiateLstm(const Step &step, int64_t u, double d) {
    auto gate = [&](int64_t g) { return step.saved[g * units + u]; };
    double *dp = step.dp;
    const double c = std::tanh(operands[5].floats[step.row + u]);
    double dc = carriedC[u] + d * gate(1) * tanhSlope(c);
    if (operands.size() == 8)
      dc += operands[7].floats[step.row + u];
    const double cBefore = layer.before(step.number, step.sample, operands[5], operands[6])[u];
    dp[u] = dc * gate(3) * logisticSlope(gate(0));
    dp[units + u] = d * c * logisticSlope(gate(1));
    dp[2 * units + u] = dc * cBefore * logisticSlope(gate(2));
    dp[3 * units + u] = dc * gate(0) * tanhSlope(gate(3));
    carriedC[u] = dc * gate(2);
  }

  void differentiateGru(const Step &step, int64_t u, double d) {
    auto gate = [&](int64_t g) { return step.saved[g * units + u]; };
    double *dp = step.dp;
    const double update = gate(0), reset = gate(1), fresh = gate(layer.saved - 1);
    dp[u] = d * (step.before[u] - fresh) * logisticSlope(update);
    dp[2 * units + u] = d * (1 - update) * tanhSlope(fresh);
    direct[u] = d * update;
    if (cell == RecurrentCell::Gru)
      return;
    dp[units + u] = dp[2 * units + u] * gate(2) * logisticSlope(reset);
    step.products[u] = dp[u], step.products[units + u] = dp[units + u];
    step.products[2 * units + u] = dp[2 * units + u] * reset;
  }

  /// Gradients to a reset gate that scales the state which the last gate reads.
  void differentiateReset(const Step &step) {
    for (int64_t k = 0; k < units; ++k) {
      const double reset = step.saved[units + k], read = timesTransposed(step, 2, k);
      step.dp[units + k] = read * step.before[k] * logisticSlope(reset);
      direct[k] += read * reset;
    }
  }

  /// Sums the gradient to the state before a step.
  void carry(const Step &step) {
    const int64_t gates = cell == RecurrentCell::Gru ? 2 : layer.gates;
    for (int64_t k = 0; k < units; ++k) {
      carried[k] = direct[k];
      for (int64_t g = 0; g < gates; ++g)
        carried[k] += timesTransposed(step, g, k);
    }
  }

  /// Column k of a gate's weights times the gradients to its products.
  double timesTransposed(const Step &step, int64_t gate, int64_t k) const {
    double sum = 0;
    for (int64_t u = 0; u < units; ++u)
      sum += operands[1].floats[(gate * units + u) * units + k] * step.products[gate * units + u];
    return sum;
  }

  Operands operands;
  Results results;
  RecurrentCell cell;
  Layer layer;
  int64_t units;
  /// The gradients to h and c after the step at hand, from the steps behind it.
  SmallVector<double> carried, carriedC;
  /// The part of the gradient to h before the step at hand that does not go through weights.
  SmallVector<double> direct;
};
} // namespace

LogicalResult RecurrenceGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  LayerGradient(*this, operands, results).run();
  return success();
}
