//===- BatchNormReference.cpp - The meaning of batch normalisation and of sums of groups
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

using Operands = ArrayRef<HostTensor>;
using Results = MutableArrayRef<HostTensor>;

namespace {
/// Positions of a cell of x in the statistics [n, c..], the channels [c..] and the
/// sums [groups, c..].
/// Passes evaluate ops on fewer samples than there are groups to learn what they make of some cells: then each is a
/// group.
struct Places {
  Places(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims, int64_t groups)
      : kept(without(range(0, shape.size()), dims)), strides(rowMajorStrides(at(shape, kept))),
        channels(product(at(shape, kept))), samples(std::max<int64_t>(shape[0] / groups, 1)) {}
  int64_t channel(ArrayRef<int64_t> index) const { return positionOf(at(index, kept), strides); }
  int64_t statistic(ArrayRef<int64_t> index) const { return index[0] * channels + channel(index); }
  int64_t group(ArrayRef<int64_t> index) const { return index[0] / samples * channels + channel(index); }

  Dims kept, strides;
  int64_t channels, samples;
};
} // namespace

LogicalResult BatchNormOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  int64_t groups = getGroups();
  Places places(x.shape, getDims(), groups);
  double count = product(at(x.shape, getDims())) / groups;
  std::vector<double> mean(groups * places.channels), variance(mean.size());
  forEachIndex(x.shape,
               [&](ArrayRef<int64_t> index, int64_t cell) { mean[places.group(index)] += x.floats[cell] / count; });
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t cell) {
    double distance = x.floats[cell] - mean[places.group(index)];
    variance[places.group(index)] += distance * distance / count;
  });
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t cell) {
    int64_t group = places.group(index), channel = places.channel(index), statistic = places.statistic(index);
    double rstd = 1 / std::sqrt(variance[group] + getEps().convertToDouble());
    results[0].floats[cell] =
        (x.floats[cell] - mean[group]) * rstd * operands[1].floats[channel] + operands[2].floats[channel];
    results[1].floats[statistic] = mean[group];
    results[2].floats[statistic] = variance[group];
  });
  return success();
}

LogicalResult BatchNormGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &dy = operands[0], &x = operands[1];
  int64_t groups = getGroups();
  Places places(x.shape, getDims(), groups);
  double count = product(at(x.shape, getDims())) / groups, eps = getEps().convertToDouble();
  std::vector<double> sum(groups * places.channels), dot(sum.size());
  auto normal = [&](ArrayRef<int64_t> index, int64_t cell) {
    int64_t statistic = places.statistic(index);
    return (x.floats[cell] - operands[3].floats[statistic]) / std::sqrt(operands[4].floats[statistic] + eps);
  };
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t cell) {
    sum[places.group(index)] += dy.floats[cell] / count;
    dot[places.group(index)] += dy.floats[cell] * normal(index, cell) / count;
  });
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t cell) {
    double rstd = 1 / std::sqrt(operands[4].floats[places.statistic(index)] + eps);
    int64_t group = places.group(index);
    results[0].floats[cell] = operands[2].floats[places.channel(index)] * rstd *
                              (dy.floats[cell] - sum[group] - normal(index, cell) * dot[group]);
  });
  return success();
}

LogicalResult BatchNormParamGradOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &dy = operands[0], &x = operands[1];
  Places places(x.shape, getDims(), 1);
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t cell) {
    int64_t channel = places.channel(index), statistic = places.statistic(index);
    double rstd = 1 / std::sqrt(operands[3].floats[statistic] + getEps().convertToDouble());
    results[0].floats[channel] += dy.floats[cell] * (x.floats[cell] - operands[2].floats[statistic]) * rstd;
    results[1].floats[channel] += dy.floats[cell];
  });
  return success();
}

LogicalResult RunningStatisticsOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  int64_t channels = operands[0].size(), groups = getGroups(), samples = operands[2].shape[0] / groups;
  double momentum = getMomentum().convertToDouble(), cells = getCells();
  double correction = getUnbiased() ? cells / (cells - 1) : 1;
  for (int which = 0; which < 2; ++which) {
    results[which].floats = operands[which].floats;
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t c = 0; c < channels; ++c) {
        double statistic = 0;
        for (int64_t i = 0; i < samples; ++i)
          statistic += operands[2 + which].floats[(group * samples + i) * channels + c] / double(samples);
        double &running = results[which].floats[c];
        running = (1 - momentum) * running + momentum * statistic * (which ? correction : 1);
      }
  }
  return success();
}

LogicalResult GroupSumOp::evaluate(Operands operands, Results results, const EvaluationContext &) {
  const HostTensor &x = operands[0];
  Places places(x.shape, {0}, getGroups());
  std::vector<double> sums(getGroups() * places.channels);
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index, int64_t cell) { sums[places.group(index)] += x.floats[cell]; });
  forEachIndex(x.shape,
               [&](ArrayRef<int64_t> index, int64_t cell) { results[0].floats[cell] = sums[places.group(index)]; });
  return success();
}
