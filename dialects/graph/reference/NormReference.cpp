//===- NormReference.cpp - The meaning of layer and RMS norms
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The normalised dimensions are the last ones, so a row is a run of cells.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

/// Cells of a row.
static int64_t widthOf(const HostTensor &x, ArrayRef<int64_t> dims) { return product(at(x.shape, dims)); }

LogicalResult LayerNormOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  int64_t width = widthOf(x, getDims());
  for (int64_t row = 0; row < x.size() / width; ++row) {
    const double *cell = &x.floats[row * width];
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < width; ++i)
      mean += cell[i] / width;
    for (int64_t i = 0; i < width; ++i)
      variance += (cell[i] - mean) * (cell[i] - mean) / width;
    double rstd = 1 / std::sqrt(variance + getEps().convertToDouble());
    for (int64_t i = 0; i < width; ++i)
      results[0].floats[row * width + i] = (cell[i] - mean) * rstd * operands[1].floats[i] + operands[2].floats[i];
    results[1].floats[row] = mean;
    results[2].floats[row] = rstd;
  }
  return success();
}

/// With h = (x - mean) * rstd and g = dy * scale:
/// dx = rstd * (g - mean(g) - h * mean(g * h)); RMS norm has no mean(g) term.
static LogicalResult normGrad(const HostTensor &dy, const HostTensor &x, const HostTensor &scale,
                              const HostTensor *mean, const HostTensor &rstd, HostTensor &dx, int64_t width) {
  for (int64_t row = 0; row < x.size() / width; ++row) {
    const double *cell = &x.floats[row * width], *slope = &dy.floats[row * width];
    double center = mean ? mean->floats[row] : 0, r = rstd.floats[row], sum = 0, dot = 0;
    for (int64_t i = 0; i < width; ++i) {
      double g = slope[i] * scale.floats[i];
      sum += g / width;
      dot += g * (cell[i] - center) * r / width;
    }
    if (!mean)
      sum = 0;
    for (int64_t i = 0; i < width; ++i)
      dx.floats[row * width + i] = r * (slope[i] * scale.floats[i] - sum - (cell[i] - center) * r * dot);
  }
  return success();
}

LogicalResult LayerNormGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  return normGrad(operands[0], operands[1], operands[2], &operands[3], operands[4], results[0],
                  widthOf(operands[1], getDims()));
}
LogicalResult RmsNormGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  return normGrad(operands[0], operands[1], operands[2], nullptr, operands[3], results[0],
                  widthOf(operands[1], getDims()));
}

LogicalResult LayerNormParamGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &dy = operands[0], &x = operands[1];
  int64_t width = widthOf(x, getDims());
  for (int64_t cell = 0; cell < x.size(); ++cell) {
    int64_t row = cell / width, i = cell % width;
    results[0].floats[i] += dy.floats[cell] * (x.floats[cell] - operands[2].floats[row]) * operands[3].floats[row];
    results[1].floats[i] += dy.floats[cell];
  }
  return success();
}

LogicalResult RmsNormOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  int64_t width = widthOf(x, getDims());
  for (int64_t row = 0; row < x.size() / width; ++row) {
    const double *cell = &x.floats[row * width];
    double square = 0;
    for (int64_t i = 0; i < width; ++i)
      square += cell[i] * cell[i] / width;
    double rstd = 1 / std::sqrt(square + getEps().convertToDouble());
    for (int64_t i = 0; i < width; ++i)
      results[0].floats[row * width + i] = cell[i] * rstd * operands[1].floats[i];
    results[1].floats[row] = rstd;
  }
  return success();
}

LogicalResult RmsNormParamGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &dy = operands[0], &x = operands[1];
  int64_t width = widthOf(x, getDims());
  for (int64_t cell = 0; cell < x.size(); ++cell)
    results[0].floats[cell % width] += dy.floats[cell] * x.floats[cell] * operands[2].floats[cell / width];
  return success();
}
