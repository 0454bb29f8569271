//===- LossReference.cpp - The meaning of losses
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The classes are the last dimension, so a row is a run of cells.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "dialects/graph/Shard.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

LogicalResult CrossEntropyOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &logits = operands[0], &labels = operands[1];
  int64_t classes = logits.shape.back();
  for (int64_t row = 0; row < labels.size(); ++row) {
    const double *cell = &logits.floats[row * classes];
    double top = -INFINITY, sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      top = std::max(top, cell[c]);
    for (int64_t c = 0; c < classes; ++c)
      sum += std::exp(cell[c] - top);
    double lse = top + std::log(sum);
    results[2].floats[row] = lse;
    int64_t label = labels.ints[row];
    if (getIgnoreIndex() && label == static_cast<int64_t>(*getIgnoreIndex()))
      continue;
    if (label < 0 || label >= classes)
      return emitOpError() << "label must be in [0, " << classes << "), got: " << label;
    results[0].floats[0] += lse - cell[label];
    results[1].floats[0] += 1;
  }
  return success();
}

LogicalResult CrossEntropyGradOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &logits = operands[0], &labels = operands[1];
  int64_t local = logits.shape.back(), first = shardNumber(getClassAxes(), context) * local;
  int64_t classes = getClasses() ? static_cast<int64_t>(*getClasses()) : first + local;
  for (int64_t cell = 0; cell < logits.size(); ++cell) {
    int64_t row = cell / local, c = first + cell % local, label = labels.ints[row];
    bool ignored = getIgnoreIndex() && label == static_cast<int64_t>(*getIgnoreIndex());
    if (!ignored && c < classes)
      results[0].floats[cell] = std::exp(logits.floats[cell] - operands[2].floats[row]) - (c == label ? 1 : 0);
  }
  return success();
}

LogicalResult CrossEntropyStatsOp::evaluate(Operands operands, Results results, const EvaluationContext &context) {
  const HostTensor &logits = operands[0], &labels = operands[1];
  int64_t local = logits.shape.back(), first = shardNumber(getClassAxes(), context) * local;
  int64_t valid = std::min(local, static_cast<int64_t>(getClasses()) - first);
  for (int64_t row = 0; row < labels.size(); ++row) {
    const double *cell = &logits.floats[row * local];
    double top = -INFINITY, sum = 0;
    for (int64_t c = 0; c < valid; ++c)
      top = std::max(top, cell[c]);
    for (int64_t c = 0; c < valid; ++c)
      sum += std::exp(cell[c] - top);
    int64_t label = labels.ints[row] - first;
    results[0].floats[row] = top;
    results[1].floats[row] = sum;
    results[2].floats[row] = label >= 0 && label < valid ? cell[label] : 0;
  }
  return success();
}

LogicalResult CrossEntropyMergeOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  for (int64_t row = 0; row < results[0].size(); ++row) {
    // A shard of padding alone has maximum -inf and sum 0.
    double sum = operands[2].floats[row];
    results[0].floats[row] = sum == 0 ? 0 : sum * std::exp(operands[0].floats[row] - operands[1].floats[row]);
  }
  return success();
}

LogicalResult CrossEntropyLossOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  for (int64_t row = 0; row < results[2].size(); ++row) {
    double lse = operands[0].floats[row] + std::log(operands[1].floats[row]);
    results[2].floats[row] = lse;
    if (getIgnoreIndex() && operands[3].ints[row] == static_cast<int64_t>(*getIgnoreIndex()))
      continue;
    results[0].floats[0] += lse - operands[2].floats[row];
    results[1].floats[0] += 1;
  }
  return success();
}
