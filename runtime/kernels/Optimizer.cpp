//===- Optimizer.cpp - Updates of a share of a bucket -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Optimizer.h"

#include <algorithm>
#include <cmath>

namespace dtcc::rt {
namespace {

/// Elements that are worth a thread; a multiple of a cache line.
constexpr int64_t grain = 16384;

/// Calls fn(range, begin, end) for every overlap of the ranges with each thread's
/// part of the elements. Parts begin at multiples of `line`, which divides `grain`.
template <int64_t line = 16, typename Fn>
void forEachOverlap(ThreadTeam &team, std::span<const UpdateRange> ranges, Fn fn) {
  if (ranges.empty())
    return;
  int64_t lines = (ranges.back().end + line - 1) / line;
  team.parallelFor(lines, grain / line, [&](int64_t begin, int64_t end) {
    begin *= line, end *= line;
    auto range =
        std::partition_point(ranges.begin(), ranges.end(), [&](const UpdateRange &r) { return r.end <= begin; });
    for (; range != ranges.end() && range->begin < end; ++range)
      fn(*range, std::max(begin, range->begin), std::min(end, range->end));
  });
}

/// Cells that are converted at a time, so that they stay in the nearest cache.
constexpr int64_t conversionBlock = 1024;

/// Updates [begin, end) by `update(at, stop, gradients of [at, stop))`, and rounds p to the copy.
template <typename Fn>
void updateAndCopy(const VectorKernels &kernels, GradientCells grad, HalfCopy copy, const float *p, int64_t begin,
                   int64_t end, Fn update) {
  if (!copy.to && grad.type == DTCC_F32)
    return update(begin, end, static_cast<const float *>(grad.cells) + begin);
  float wide[conversionBlock];
  for (int64_t at = begin; at < end; at += conversionBlock) {
    int64_t stop = std::min(at + conversionBlock, end);
    GradientCells here = grad.from(at);
    if (grad.type != DTCC_F32)
      kernels.widen(grad.type, here.cells, stop - at, wide);
    update(at, stop, grad.type == DTCC_F32 ? static_cast<const float *>(here.cells) : wide);
    if (copy.to)
      kernels.narrow(copy.type, p + at, stop - at, static_cast<uint16_t *>(copy.to) + at);
  }
}

/// The sum of the squares of x[0, n), in an order that depends on n alone.
double sumOfBlock(const VectorKernels &kernels, GradientCells x, int64_t n) {
  if (x.type == DTCC_F32)
    return kernels.sumSquares(static_cast<const float *>(x.cells), n);
  float wide[conversionBlock];
  double sum = 0;
  for (int64_t at = 0; at < n; at += conversionBlock) {
    int64_t count = std::min(conversionBlock, n - at);
    kernels.widen(x.type, x.from(at).cells, count, wide);
    sum += kernels.sumSquares(wide, count);
  }
  return sum;
}

} // namespace

double sumSquares(ThreadTeam &team, const VectorKernels &kernels, GradientCells x, int64_t n,
                  std::span<double> partial) {
  int64_t block = std::max<int64_t>(8192, (n + sumSquaresBlocks - 1) / sumSquaresBlocks);
  int64_t blocks = (n + block - 1) / block;
  team.parallelFor(blocks, std::max<int64_t>(1, grain / block), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      partial[static_cast<size_t>(i)] = sumOfBlock(kernels, x.from(i * block), std::min(block, n - i * block));
  });
  double sum = 0;
  for (int64_t i = 0; i < blocks; ++i)
    sum += partial[static_cast<size_t>(i)];
  return sum;
}

GradScale gradScale(double squares, double count, double clip, float limit) {
  if (count == 0)
    return {0, noUpdate};
  double norm = std::sqrt(squares) / count;
  // Rank 0 judges by the norm that it reads, in f32.
  if (!std::isfinite(norm) || static_cast<float>(norm) > limit)
    return {static_cast<float>(norm), noUpdate};
  double scale = 1 / count;
  if (clip > 0)
    scale *= std::min(1.0, clip / (norm + 1e-6));
  return {static_cast<float>(norm), static_cast<float>(scale)};
}

float meanScale(double lossSum, double count) {
  return std::isfinite(lossSum) && count != 0 ? static_cast<float>(1 / count) : noUpdate;
}

GradUnscale gradUnscale(double squares, double count, double clip, double lossScale, float limit) {
  GradScale plain = gradScale(squares / lossScale / lossScale, count, clip, limit);
  return {{plain.norm, static_cast<float>(plain.scale / lossScale)}, std::isfinite(squares)};
}

void adjustLossScale(LossScale &state, bool finite, double growth, double backoff, int64_t interval) {
  if (!finite) {
    state.scale = static_cast<float>(state.scale * backoff);
    state.streak = 0;
    ++state.skipped;
    return;
  }
  if (++state.streak < static_cast<float>(interval))
    return;
  // PyTorch keeps the scale where it would overflow.
  auto grown = static_cast<float>(state.scale * growth);
  state.scale = std::isfinite(grown) ? grown : state.scale;
  state.streak = 0;
}

/// Calls update(coefficients, begin, end) for the cells of a step of Adam, on all threads.
template <int64_t line = 16, typename Fn>
static void forEachAdamStep(ThreadTeam &team, std::span<const UpdateRange> ranges, const AdamOptions &options,
                            float scale, double lr, int64_t step, Fn update) {
  if (std::isnan(scale))
    return;
  double correction1 = 1, correction2 = 1;
  if (auto count = static_cast<double>(step + options.start);
      options.correction != AdamCorrection::None && count >= 1) {
    correction1 = 1 - std::pow(options.beta1, count);
    correction2 = 1 - std::pow(options.beta2, count);
  }
  double root = std::sqrt(correction2);
  forEachOverlap<line>(team, ranges, [&](const UpdateRange &range, int64_t begin, int64_t end) {
    double rate = lr * range.lrScale, kept = 1 - rate * range.decay;
    // A factor of the updated parameter multiplies both the parameter and its step.
    double behind = (1 - options.postDecay) * (options.decay == AdamDecay::Behind ? kept : 1);
    AdamStep s;
    s.gradScale = scale;
    s.l2 = options.decay == AdamDecay::Gradient ? static_cast<float>(range.decay) : 0.0f;
    s.keep = static_cast<float>((options.decay == AdamDecay::Before ? kept : 1) * behind);
    s.beta2 = static_cast<float>(options.beta2);
    s.oneMinusBeta1 = static_cast<float>(1 - options.beta1);
    s.oneMinusBeta2 = static_cast<float>(1 - options.beta2);
    s.stepSize = static_cast<float>(rate / correction1 * behind);
    s.rootCorrection = static_cast<float>(root);
    s.eps = static_cast<float>(options.correction == AdamCorrection::BehindEps ? options.eps / root : options.eps);
    update(s, begin, end);
  });
}

void adamUpdate(ThreadTeam &team, const VectorKernels &kernels, std::span<const UpdateRange> ranges,
                const AdamOptions &options, float scale, double lr, int64_t step, GradientCells grad, float *p,
                float *m, float *v, HalfCopy copy) {
  forEachAdamStep(team, ranges, options, scale, lr, step, [&](const AdamStep &s, int64_t begin, int64_t end) {
    updateAndCopy(kernels, grad, copy, p, begin, end, [&](int64_t at, int64_t stop, const float *g) {
      kernels.adam(s, stop - at, g, p + at, m + at, v + at);
    });
  });
}

void codedAdamUpdate(ThreadTeam &team, const VectorKernels &kernels, std::span<const UpdateRange> ranges,
                     const AdamOptions &options, float scale, double lr, int64_t step, GradientCells grad, float *p,
                     const CodedShare &m, const CodedShare &v, HalfCopy copy) {
  auto update = [&](const AdamStep &s, int64_t begin, int64_t end, const float *g) {
    float mean[codeBlock], variance[codeBlock];
    for (int64_t at = begin; at < end; at += codeBlock) {
      const int64_t count = std::min(codeBlock, end - at);
      m.decode(at, count, mean);
      v.decode(at, count, variance);
      kernels.adam(s, count, g + (at - begin), p + at, mean, variance);
      m.encode(at, count, mean);
      v.encode(at, count, variance);
    }
  };
  forEachAdamStep<codeBlock>(team, ranges, options, scale, lr, step,
                             [&](const AdamStep &s, int64_t begin, int64_t end) {
                               updateAndCopy(kernels, grad, copy, p, begin, end,
                                             [&](int64_t at, int64_t stop, const float *g) { update(s, at, stop, g); });
                             });
}

void sgdUpdate(ThreadTeam &team, const VectorKernels &kernels, std::span<const UpdateRange> ranges,
               const SgdOptions &options, float scale, double lr, int64_t step, GradientCells grad, float *p,
               float *buffer, HalfCopy copy) {
  if (std::isnan(scale))
    return;
  forEachOverlap(team, ranges, [&](const UpdateRange &range, int64_t begin, int64_t end) {
    SgdStep s;
    s.gradScale = scale;
    s.decay = static_cast<float>(range.decay);
    s.momentum = static_cast<float>(options.momentum);
    s.dampened = step + options.start <= 1 ? 1.0f : static_cast<float>(1 - options.dampening);
    s.lr = static_cast<float>(lr * range.lrScale);
    s.nesterov = options.nesterov;
    updateAndCopy(kernels, grad, copy, p, begin, end, [&](int64_t at, int64_t stop, const float *g) {
      kernels.sgd(s, stop - at, g, p + at, buffer ? buffer + at : nullptr);
    });
  });
}

void adagradUpdate(ThreadTeam &team, const VectorKernels &kernels, std::span<const UpdateRange> ranges,
                   const AdagradOptions &options, float scale, double lr, int64_t step, GradientCells grad, float *p,
                   float *sum, HalfCopy copy) {
  if (std::isnan(scale))
    return;
  double decayed = lr / (1 + static_cast<double>(step + options.start - 1) * options.lrDecay);
  forEachOverlap(team, ranges, [&](const UpdateRange &range, int64_t begin, int64_t end) {
    AdagradStep s;
    s.gradScale = scale;
    s.decay = static_cast<float>(range.decay);
    s.lr = static_cast<float>(decayed * range.lrScale);
    s.eps = static_cast<float>(options.eps);
    updateAndCopy(kernels, grad, copy, p, begin, end, [&](int64_t at, int64_t stop, const float *g) {
      kernels.adagrad(s, stop - at, g, p + at, sum + at);
    });
  });
}

void lionUpdate(ThreadTeam &team, const VectorKernels &kernels, std::span<const UpdateRange> ranges,
                const LionOptions &options, float scale, double lr, GradientCells grad, float *p, float *m,
                HalfCopy copy) {
  if (std::isnan(scale))
    return;
  forEachOverlap(team, ranges, [&](const UpdateRange &range, int64_t begin, int64_t end) {
    double rate = lr * range.lrScale;
    LionStep s;
    s.gradScale = scale;
    s.keep = static_cast<float>(1 - rate * range.decay);
    s.lr = static_cast<float>(rate);
    s.beta1 = static_cast<float>(options.beta1), s.beta2 = static_cast<float>(options.beta2);
    s.oneMinusBeta1 = static_cast<float>(1 - options.beta1), s.oneMinusBeta2 = static_cast<float>(1 - options.beta2);
    updateAndCopy(kernels, grad, copy, p, begin, end,
                  [&](int64_t at, int64_t stop, const float *g) { kernels.lion(s, stop - at, g, p + at, m + at); });
  });
}

} // namespace dtcc::rt
