//===- ExpertReference.cpp - The meaning of routing and experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/ClampedSwish.h"
#include "dialects/graph/GroupedSpec.h"
#include "dialects/graph/Shapes.h"
#include "dialects/graph/Shard.h"
#include "dialects/graph/reference/Activations.h"
#include <algorithm>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

LogicalResult TopKOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  int64_t count = x.shape.back(), picked = results[0].shape.back();
  for (int64_t row = 0; row < results[0].size() / picked; ++row) {
    const double *cells = &x.floats[row * count];
    std::vector<bool> taken(count);
    for (int64_t i = 0; i < picked; ++i) {
      // The first of the largest; NaN is larger than any number, as PyTorch has it.
      int64_t best = -1;
      for (int64_t c = 0; c < count; ++c)
        if (!taken[c] && (best < 0 || cells[c] > cells[best] || (std::isnan(cells[c]) && !std::isnan(cells[best]))))
          best = c;
      taken[best] = true;
      results[0].floats[row * picked + i] = cells[best];
      results[1].ints[row * picked + i] = best;
    }
  }
  return success();
}

/// Ids of whole tensors must name a group; on a shard those of others are skipped.
static LogicalResult checkIds(Operation *op, const HostTensor &ids, int64_t groups, bool shard) {
  for (int64_t id : ids.ints)
    if (!shard && (id < 0 || id >= groups))
      return op->emitOpError() << "id must be in [0, " << groups << "), got: " << id;
  return success();
}

LogicalResult GroupedContractOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  GroupedSpec spec = GroupedSpec::parse(getSpec(), getRows());
  std::string letters = spec.terms.letters();
  size_t group = letters.find(spec.group);
  Dims sizes(letters.size(), 1);
  auto strides = [&](const std::string &term, const HostTensor &tensor) {
    Dims list(letters.size(), 0);
    for (auto [dim, letter] : llvm::enumerate(term)) {
      list[letters.find(letter)] = tensor.strides()[dim];
      sizes[letters.find(letter)] = tensor.shape[dim];
    }
    return list;
  };
  Dims lhs = strides(spec.terms.lhs, operands[0]), rhs = strides(spec.terms.rhs, operands[1]);
  Dims rows = strides(spec.rows, operands[2]), out = strides(spec.terms.result, results[0]);
  int64_t groups = sizes[group], first = shardNumber(getGroupAxes(), context) * groups;
  if (failed(checkIds(*this, operands[2], groups, getGroupAxes().has_value())))
    return failure();
  sizes[group] = 1;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index, int64_t) {
    int64_t id = operands[2].ints[positionOf(index, rows)] - first;
    if (id < 0 || id >= groups)
      return;
    results[0].floats[positionOf(index, out) + id * out[group]] +=
        operands[0].floats[positionOf(index, lhs)] * operands[1].floats[positionOf(index, rhs) + id * rhs[group]];
  });
  return success();
}

//===----------------------------------------------------------------------===//
// experts
//===----------------------------------------------------------------------===//

namespace {
/// An activation of one number, and its slope.
struct Activation {
  double (*value)(double), (*slope)(double);

  static Activation of(ExpertActivation kind) {
    switch (kind) {
    case ExpertActivation::gelu:
      return {geluExact, geluExactSlope};
    case ExpertActivation::gelu_tanh:
      return {geluTanh, geluTanhSlope};
    case ExpertActivation::relu:
      return {relu, reluSlope};
    case ExpertActivation::relu_squared:
      return {[](double x) { return relu(x) * relu(x); }, [](double x) { return 2 * relu(x); }};
    default:
      return {silu, siluSlope};
    }
  }
};

/// Computes the value of an expert's activation and its slopes by gate and up. Without a gate `up` is 1, and nobody
/// reads its slope.
struct Active {
  double value, byGate, byUp;

  Active(ExpertActivation kind, double gate, double up) {
    if (kind == ExpertActivation::clamped_swish) {
      const double limited = std::min(gate, kSwishLimit), shifted = std::clamp(up, -kSwishLimit, kSwishLimit) + 1;
      const double open = logistic(kSwishScale * limited);
      value = limited * open * shifted;
      byGate = gate > kSwishLimit ? 0 : open * (1 + kSwishScale * limited * (1 - open)) * shifted;
      byUp = std::abs(up) > kSwishLimit ? 0 : limited * open;
      return;
    }
    const Activation activation = Activation::of(kind);
    value = activation.value(gate) * up;
    byGate = activation.slope(gate) * up;
    byUp = activation.value(gate);
  }
};

/// A token, one of its picks, and the expert picked as this shard numbers them.
struct ExpertRow {
  int64_t token, row, expert;
};

/// Calls `body` for every picked row whose expert this shard holds.
void forEachPicked(const HostTensor &ids, int64_t experts, int64_t shard, llvm::function_ref<void(ExpertRow)> body) {
  int64_t picked = ids.shape.back();
  for (int64_t row = 0; row < ids.size(); ++row) {
    int64_t expert = ids.ints[row] - shard * experts;
    if (expert >= 0 && expert < experts)
      body({row / picked, row, expert});
  }
}
} // namespace

LogicalResult ExpertsOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &x = operands[0], &ids = operands[1], &weights = operands[2], &wIn = operands[3],
                   &wOut = operands[4];
  HostTensor &y = results[0], &hidden = results[1];
  int64_t experts = wIn.shape[0], width = wIn.shape[2], in = wIn.shape[3], out = wOut.shape[1];
  int64_t wide = wIn.shape[1] * width;
  if (failed(checkIds(*this, ids, experts, getExpertAxes().has_value())))
    return failure();
  forEachPicked(ids, experts, shardNumber(getExpertAxes(), context), [&](ExpertRow at) {
    double *gate = &hidden.floats[at.row * wide];
    for (int64_t f = 0; f < wide; ++f)
      for (int64_t c = 0; c < in; ++c)
        gate[f] += wIn.floats[(at.expert * wide + f) * in + c] * x.floats[at.token * in + c];
    for (int64_t f = 0; f < width; ++f) {
      const Active active(getActivation(), gate[f], wide > width ? gate[width + f] : 1);
      for (int64_t c = 0; c < out; ++c)
        y.floats[at.token * out + c] +=
            weights.floats[at.row] * wOut.floats[(at.expert * out + c) * width + f] * active.value;
    }
  });
  return success();
}

LogicalResult ExpertsGradOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &dy = operands[0], &ids = operands[1], &weights = operands[2], &wIn = operands[3],
                   &wOut = operands[4], &hidden = operands[5];
  HostTensor &dx = results[0], &dweights = results[1], &dhidden = results[2];
  int64_t experts = wIn.shape[0], width = wIn.shape[2], in = wIn.shape[3], out = wOut.shape[1];
  int64_t wide = wIn.shape[1] * width;
  if (failed(checkIds(*this, ids, experts, getExpertAxes().has_value())))
    return failure();
  forEachPicked(ids, experts, shardNumber(getExpertAxes(), context), [&](ExpertRow at) {
    const double *gate = &hidden.floats[at.row * wide];
    double *dgate = &dhidden.floats[at.row * wide];
    for (int64_t f = 0; f < width; ++f) {
      const Active active(getActivation(), gate[f], wide > width ? gate[width + f] : 1);
      double dactive = 0;
      for (int64_t c = 0; c < out; ++c)
        dactive += dy.floats[at.token * out + c] * wOut.floats[(at.expert * out + c) * width + f];
      dweights.floats[at.row] += dactive * active.value;
      dactive *= weights.floats[at.row];
      dgate[f] = dactive * active.byGate;
      if (wide > width)
        dgate[width + f] = dactive * active.byUp;
    }
    for (int64_t f = 0; f < wide; ++f)
      for (int64_t c = 0; c < in; ++c)
        dx.floats[at.token * in + c] += dgate[f] * wIn.floats[(at.expert * wide + f) * in + c];
  });
  return success();
}

LogicalResult ExpertsWeightGradOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &dy = operands[0], &x = operands[1], &ids = operands[2], &weights = operands[3],
                   &hidden = operands[4], &dhidden = operands[5];
  HostTensor &dwIn = results[0], &dwOut = results[1];
  int64_t experts = dwIn.shape[0], width = dwIn.shape[2], in = dwIn.shape[3], out = dwOut.shape[1];
  int64_t wide = dwIn.shape[1] * width;
  forEachPicked(ids, experts, shardNumber(getExpertAxes(), context), [&](ExpertRow at) {
    const double *gate = &hidden.floats[at.row * wide], *dgate = &dhidden.floats[at.row * wide];
    for (int64_t f = 0; f < wide; ++f)
      for (int64_t c = 0; c < in; ++c)
        dwIn.floats[(at.expert * wide + f) * in + c] += dgate[f] * x.floats[at.token * in + c];
    for (int64_t f = 0; f < width; ++f) {
      const Active active(getActivation(), gate[f], wide > width ? gate[width + f] : 1);
      for (int64_t c = 0; c < out; ++c)
        dwOut.floats[(at.expert * out + c) * width + f] +=
            dy.floats[at.token * out + c] * weights.floats[at.row] * active.value;
    }
  });
  return success();
}
