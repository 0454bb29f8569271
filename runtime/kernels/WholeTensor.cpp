//===- WholeTensor.cpp - Steps that need whole tensors -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/WholeTensor.h"

#include <algorithm>
#include <cmath>

namespace dtcc::rt {
namespace {

/// Elements that are worth a thread.
constexpr int64_t grainOfShares = 16384;

} // namespace

void muonDirection(ThreadTeam &team, int64_t n, double momentum, bool nesterov, float scale, const float *grad,
                   float *buffer, float *direction) {
  if (std::isnan(scale))
    return;
  const auto weight = static_cast<float>(1 - momentum), kept = static_cast<float>(momentum);
  team.parallelFor(n, grainOfShares, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float g = grad[i] * scale;
      buffer[i] += weight * (g - buffer[i]);
      direction[i] = nesterov ? g + kept * (buffer[i] - g) : buffer[i];
    }
  });
}

void lambDirection(ThreadTeam &team, std::span<const TensorRange> ranges, int64_t n, const LambOptions &options,
                   float scale, int64_t step, const float *grad, const float *p, float *m, float *v, float *direction) {
  if (std::isnan(scale))
    return;
  const auto count = static_cast<double>(step);
  const auto meanBias = static_cast<float>(1 - std::pow(options.beta1, count));
  const auto root = static_cast<float>(std::sqrt(1 - std::pow(options.beta2, count)));
  const auto beta1 = static_cast<float>(options.beta1), beta2 = static_cast<float>(options.beta2);
  const auto rest1 = static_cast<float>(1 - options.beta1), rest2 = static_cast<float>(1 - options.beta2);
  const auto eps = static_cast<float>(options.eps);
  std::fill_n(direction, n, 0.0f);
  for (const TensorRange &range : ranges) {
    const auto decay = static_cast<float>(range.decay);
    team.parallelFor(range.end - range.begin, grainOfShares, [&](int64_t begin, int64_t end) {
      for (int64_t i = range.begin + begin; i < range.begin + end; ++i) {
        float g = grad[i] * scale;
        m[i] = beta1 * m[i] + rest1 * g;
        v[i] = beta2 * v[i] + rest2 * g * g;
        direction[i] = m[i] / meanBias / (std::sqrt(v[i]) / root + eps) + decay * p[i];
      }
    });
  }
}

void tensorSquares(ThreadTeam &team, const VectorKernels &kernels, std::span<const TensorRange> ranges, int64_t tensors,
                   const float *p, const float *direction, std::span<double> partial, float *squares) {
  std::fill_n(squares, 2 * tensors, 0.0f);
  for (const TensorRange &range : ranges) {
    int64_t n = range.end - range.begin;
    squares[2 * range.tensor] = static_cast<float>(sumSquares(team, kernels, p + range.begin, n, partial));
    squares[2 * range.tensor + 1] = static_cast<float>(sumSquares(team, kernels, direction + range.begin, n, partial));
  }
}

double trustRatio(const TrustOptions &options, double decay, double squaresOfParameter, double squaresOfDirection) {
  if (!options.alwaysAdapt && decay == 0)
    return 1;
  double parameter = std::sqrt(squaresOfParameter), direction = std::sqrt(squaresOfDirection);
  double ratio = parameter > 0 && direction > 0 ? parameter / direction : 1;
  return options.clips ? std::min(ratio, 1.0) : ratio;
}

DirectionStep rmsStep(const RmsOptions &options, double rate, double decay, int64_t step, double cells,
                      double squaresOfParameter, double squaresOfDirection) {
  double relative = std::max(options.eps2, std::sqrt(squaresOfParameter / cells));
  double alpha = relative * std::min(rate, 1 / std::sqrt(static_cast<double>(step)));
  return {1 - rate * decay, alpha / std::max(1.0, std::sqrt(squaresOfDirection / cells) / options.d)};
}

void applyDirection(ThreadTeam &team, const VectorKernels &kernels, std::span<const TensorRange> ranges,
                    std::span<const DirectionStep> steps, const float *direction, float *p, HalfCopy copy) {
  for (size_t r = 0; r < ranges.size(); ++r) {
    const TensorRange &range = ranges[r];
    const auto kept = static_cast<float>(steps[r].kept), size = static_cast<float>(steps[r].size);
    team.parallelFor(range.end - range.begin, grainOfShares, [&](int64_t begin, int64_t end) {
      begin += range.begin, end += range.begin;
      for (int64_t i = begin; i < end; ++i)
        p[i] = p[i] * kept - direction[i] * size;
      if (copy.to)
        kernels.narrow(copy.type, p + begin, end - begin, static_cast<uint16_t *>(copy.to) + begin);
    });
  }
}

} // namespace dtcc::rt
