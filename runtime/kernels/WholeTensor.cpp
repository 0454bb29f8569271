//===- WholeTensor.cpp - Steps that need whole tensors -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/WholeTensor.h"

#include "runtime/abi/OrthogonalizeWorkspace.h"
#include "runtime/core/HalfFloat.h"

#include <algorithm>
#include <cmath>

namespace dtcc::rt {
namespace {

/// Elements that are worth a thread.
constexpr int64_t grainOfShares = 16384;

float roundToBF16(float value) { return fromBF16(toBF16(value)); }

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

float orthogonalScale(const OrthogonalizeOptions &options, int64_t rows, int64_t columns) {
  const double ratio = static_cast<double>(rows) / static_cast<double>(columns);
  return static_cast<float>(options.matchRms ? 0.2 * std::sqrt(static_cast<double>(std::max(rows, columns)))
                                             : std::sqrt(std::max(1.0, ratio)));
}

Orthogonalization::Orthogonalization(const OrthogonalizeOptions &options, int64_t rows, int64_t columns,
                                     const VectorKernels &kernels, TeamScratch &scratch)
    : options(options), rows(rows), columns(columns) {
  const int64_t side = std::min(rows, columns), length = std::max(rows, columns);
  auto product = [&](int64_t n, int64_t k, int64_t rhsRow, int64_t rhsColumn) {
    ProductProblem p;
    p.m = side, p.n = n, p.k = k;
    p.type = DTCC_BF16, p.outType = DTCC_F32;
    p.lhsStrides[1] = k, p.lhsStrides[2] = 1;
    p.rhsStrides[1] = rhsRow, p.rhsStrides[2] = rhsColumn;
    p.outStrides[1] = n, p.outStrides[2] = 1;
    return p;
  };
  problems[0] = product(side, length, 1, length);
  problems[1] = product(side, side, side, 1);
  problems[2] = product(length, side, length, 1);
  for (const ProductProblem &problem : problems)
    products.emplace_back(problem, kernels, scratch);
}

void Orthogonalization::run(ThreadTeam &team, const TeamScratch &scratch, std::byte *workspace) const {
  const int64_t cells = rows * columns, side = std::min(rows, columns), length = std::max(rows, columns);
  const OrthogonalizeLayout layout(rows, columns);
  auto *matrix = this->matrix(workspace), *sums = reinterpret_cast<float *>(workspace + layout.sums);
  auto *x = reinterpret_cast<uint16_t *>(workspace + layout.x);
  auto *gram = reinterpret_cast<uint16_t *>(workspace + layout.gram);
  auto *polynomial = reinterpret_cast<uint16_t *>(workspace + layout.polynomial);
  const bool turned = rows > columns;
  auto cellOf = [&](int64_t i) { return turned ? i % length * columns + i / length : i; };
  double squares = 0;
  for (int64_t i = 0; i < cells; ++i) {
    auto value = static_cast<double>(roundToBF16(matrix[i]));
    squares += value * value;
  }
  const float norm =
      std::max(roundToBF16(static_cast<float>(std::sqrt(squares))), roundToBF16(static_cast<float>(options.eps)));
  team.parallelFor(cells, grainOfShares, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      x[i] = toBF16(roundToBF16(matrix[cellOf(i)]) / norm);
  });
  auto multiply = [&](int which, const uint16_t *lhs, const uint16_t *rhs) {
    ProductProblem problem = problems[which];
    problem.lhs = lhs, problem.rhs = rhs, problem.out = sums;
    products[static_cast<size_t>(which)].run(team, scratch, problem);
  };
  // to = a * from + b * sums, rounded once.
  auto combine = [&](int64_t n, float a, const uint16_t *from, float b, uint16_t *to) {
    team.parallelFor(n, grainOfShares, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = toBF16((a == 0 ? 0 : a * fromBF16(from[i])) + b * sums[i]);
    });
  };
  const auto a = static_cast<float>(options.a), b = static_cast<float>(options.b), c = static_cast<float>(options.c);
  for (int64_t step = 0; step < options.steps; ++step) {
    multiply(0, x, x);
    combine(side * side, 0, gram, 1, gram);
    multiply(1, gram, gram);
    combine(side * side, b, gram, c, polynomial);
    multiply(2, polynomial, x);
    combine(cells, a, x, 1, x);
  }
  const float scale = orthogonalScale(options, rows, columns);
  team.parallelFor(cells, grainOfShares, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      matrix[cellOf(i)] = fromBF16(x[i]) * scale;
  });
}

} // namespace dtcc::rt
