//===- Optimizer.cu - Norms, scales and parameter updates
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas and their order of operations are those of the processor's kernels
// (runtime/kernels/Optimizer.cpp and vector/Optimizers.cpp). What depends on a range and
// the step alone is worked out in f64 by a first small launch, so that the pass over the
// parameters has no f64 in it.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/BlockCodes.h"
#include "runtime/abi/dtcc_rt.h"
#include "runtime/cuda/kernels/Cells.h"
#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/Reduce.h"
#include "runtime/cuda/kernels/updates/Optimizer.h"
#include "runtime/cuda/kernels/updates/Ranges.h"

using namespace dtcc::rt::cuda;

namespace {

template <typename T> struct alignas(4 * sizeof(T)) Four {
  T cells[4];
};
using Floats4 = Four<float>;

template <typename T> DTCC_DEVICE Four<T> rounded(const Floats4 &from) {
  return {{static_cast<T>(from.cells[0]), static_cast<T>(from.cells[1]), static_cast<T>(from.cells[2]),
           static_cast<T>(from.cells[3])}};
}

template <typename T> DTCC_DEVICE Floats4 widened(const Four<T> &from) {
  return {{static_cast<float>(from.cells[0]), static_cast<float>(from.cells[1]), static_cast<float>(from.cells[2]),
           static_cast<float>(from.cells[3])}};
}

/// Four cells of `type` at a multiple of four.
DTCC_DEVICE Floats4 fourAt(const void *data, int32_t type, int64_t offset) {
  if (type == DTCC_F32)
    return *reinterpret_cast<const Floats4 *>(static_cast<const float *>(data) + offset);
  if (type == DTCC_BF16)
    return widened(*reinterpret_cast<const Four<__bf16> *>(static_cast<const __bf16 *>(data) + offset));
  return widened(*reinterpret_cast<const Four<_Float16> *>(static_cast<const _Float16 *>(data) + offset));
}

/// Rounds p to the copy's type.
DTCC_DEVICE void writeCopy(const UpdateCommon &c, int64_t i, float value) {
  if (!c.copy)
    return;
  if (c.copyType == DTCC_BF16)
    static_cast<__bf16 *>(c.copy)[i] = static_cast<__bf16>(value);
  else
    static_cast<_Float16 *>(c.copy)[i] = static_cast<_Float16>(value);
}

/// Runs `element(step of the range, gradient, p, slot 0, slot 1)` for the block's chunk. Elements outside every
/// range stay. Threads walk ascending elements, so the range is searched once.
template <int slots, typename Element> DTCC_DEVICE void updateChunkBy(const UpdateCommon &c, Element element) {
  const int64_t begin = blockX() * updateChunk, end = least(begin + updateChunk, c.size);
  int64_t range = firstRangeBehind(c.ranges, c.rangeCount, begin);
  const float scale = *c.scale;
  if (scale != scale)
    return; // noUpdate of runtime/kernels/Optimizer.h
  for (int64_t first = begin + threadIndex() * 4; first < end; first += updateThreads * 4) {
    while (range < c.rangeCount && c.ranges[range].end <= first)
      ++range;
    if (range == c.rangeCount)
      return;
    const UpdateRange &r = c.ranges[range];
    if (c.aligned && r.begin <= first && first + 4 <= r.end) {
      auto load = [&](const float *from) { return *reinterpret_cast<const Floats4 *>(from + first); };
      auto store = [&](float *to, const Floats4 &four) { *reinterpret_cast<Floats4 *>(to + first) = four; };
      Floats4 g = fourAt(c.grad, c.gradType, first), weights = load(c.p), a = {}, b = {};
      if (slots > 0)
        a = load(c.slots[0]);
      if (slots > 1)
        b = load(c.slots[1]);
      const RangeStep step = c.steps[range];
      for (int j = 0; j < 4; ++j)
        element(step, g.cells[j] * scale, weights.cells[j], a.cells[j], b.cells[j]);
      store(c.p, weights);
      if (c.copy && c.copyType == DTCC_BF16)
        *reinterpret_cast<Four<__bf16> *>(static_cast<__bf16 *>(c.copy) + first) = rounded<__bf16>(weights);
      else if (c.copy)
        *reinterpret_cast<Four<_Float16> *>(static_cast<_Float16 *>(c.copy) + first) = rounded<_Float16>(weights);
      if (slots > 0)
        store(c.slots[0], a);
      if (slots > 1)
        store(c.slots[1], b);
      continue;
    }
    int64_t here = range;
    for (int64_t i = first; i < first + 4 && i < end; ++i) {
      while (here < c.rangeCount && c.ranges[here].end <= i)
        ++here;
      if (here == c.rangeCount || i < c.ranges[here].begin)
        continue;
      float weight = c.p[i], a = slots > 0 ? c.slots[0][i] : 0, b = slots > 1 ? c.slots[1][i] : 0;
      element(c.steps[here], cellAt(c.grad, c.gradType, i) * scale, weight, a, b);
      writeCopy(c, i, weight);
      c.p[i] = weight;
      if (slots > 0)
        c.slots[0][i] = a;
      if (slots > 1)
        c.slots[1][i] = b;
    }
  }
}

} // namespace

DTCC_KERNEL(sum_squares_blocks, SumSquares, sumSquaresThreads) {
  DTCC_SHARED double room[sumSquaresThreads / warpSize];
  const int64_t begin = blockX() * p.block, count = least(p.block, p.size - begin);
  const int64_t fours = reinterpret_cast<uint64_t>(p.in) % sizeof(Floats4) == 0 ? count / 4 : 0;
  double sum = 0;
  for (int64_t i = threadIndex(); i < fours; i += sumSquaresThreads)
    for (float cell : fourAt(p.in, p.type, begin + 4 * i).cells)
      sum += static_cast<double>(cell) * cell;
  for (int64_t i = fours * 4 + threadIndex(); i < count; i += sumSquaresThreads) {
    const float cell = cellAt(p.in, p.type, begin + i);
    sum += static_cast<double>(cell) * cell;
  }
  sum = sumBlock(sum, room);
  if (threadIndex() == 0)
    p.partial[blockX()] = sum;
}

DTCC_KERNEL(sum_squares_total, SumSquares, sumSquaresThreads) {
  DTCC_SHARED double room[sumSquaresThreads / warpSize];
  double sum = 0;
  for (int64_t i = threadIndex(); i < p.blocks; i += sumSquaresThreads)
    sum += p.partial[i];
  sum = sumBlock(sum, room);
  if (threadIndex() == 0)
    *p.out = static_cast<float>((p.accumulate ? *p.out : 0.0) + sum);
}

DTCC_KERNEL(grad_scale, GradScale, warpSize) {
  if (threadIndex() != 0)
    return;
  const double squares = *p.squares, count = *p.count, lossScale = p.lossScale ? *p.lossScale * p.unit : 1;
  double norm = 0, scale = __builtin_nan("");
  if (count != 0)
    norm = __builtin_sqrt(squares / lossScale / lossScale) / count;
  if (count != 0 && norm - norm == 0 && !(p.limit && static_cast<float>(norm) > *p.limit)) {
    scale = 1 / count;
    if (p.clip > 0)
      scale *= least(1.0, p.clip / (norm + 1e-6));
    scale /= lossScale;
  }
  *p.norm = static_cast<float>(norm);
  *p.scale = static_cast<float>(scale);
  if (p.finite)
    *p.finite = squares - squares == 0;
  if (p.found) {
    p.found[0] = 1 / (count * lossScale);
    p.found[1] = p.finite && *p.finite == 0;
  }
}

DTCC_KERNEL(mean_scale, MeanScale, warpSize) {
  if (threadIndex() != 0)
    return;
  const double sum = *p.lossSum, count = *p.count;
  *p.scale = static_cast<float>(sum - sum == 0 && count != 0 ? 1 / count : __builtin_nan(""));
}

DTCC_KERNEL(loss_scale_adjust, LossScaleAdjust, warpSize) {
  if (threadIndex() != 0)
    return;
  // This step's number among those taken; if it is skipped nobody reads it.
  *p.taken = *p.step - static_cast<int64_t>(*p.skipped);
  if (*p.finite == 0) {
    *p.scale = static_cast<float>(*p.scale * p.backoff);
    *p.streak = 0;
    *p.skipped += 1;
    return;
  }
  float streak = *p.streak + 1;
  if (streak >= static_cast<float>(p.interval)) {
    // PyTorch keeps the scale where it would overflow.
    float grown = static_cast<float>(*p.scale * p.growth);
    *p.scale = grown - grown == 0 ? grown : *p.scale;
    streak = 0;
  }
  *p.streak = streak;
}

DTCC_KERNEL(update_ranges, Update, updateThreads) {
  int64_t i = blockX() * updateThreads + threadIndex();
  if (i >= p.common.rangeCount)
    return;
  const UpdateRange range = p.common.ranges[i];
  const double rate = *p.common.lr * range.lrScale, kept = 1 - rate * range.decay;
  const int64_t count = *p.common.step + p.start;
  RangeStep step;
  step.decay = static_cast<float>(range.decay);
  step.keep = static_cast<float>(kept);
  step.rate = static_cast<float>(rate);
  step.root = 1;
  step.eps = static_cast<float>(p.eps);
  if (p.rule == UpdateRule::Adam) {
    const bool corrects = p.correction != 0 && count >= 1;
    const double bias = corrects ? 1 - powerOf(p.beta1, count) : 1;
    const double root = corrects ? __builtin_sqrt(1 - powerOf(p.beta2, count)) : 1;
    const double behind = (1 - p.postDecay) * (p.decay == 2 ? kept : 1);
    step.decay = p.decay == 0 ? step.decay : 0.0f;
    step.keep = static_cast<float>((p.decay == 1 ? kept : 1) * behind);
    step.rate = static_cast<float>(rate / bias * behind);
    step.root = static_cast<float>(root);
    step.eps = static_cast<float>(p.correction == 2 ? p.eps / root : p.eps);
  }
  if (p.rule == UpdateRule::Adagrad)
    step.rate = static_cast<float>(*p.common.lr / (1 + static_cast<double>(count - 1) * p.beta1) * range.lrScale);
  p.common.steps[i] = step;
}

namespace {

/// A cell's step of Adam.
struct AdamElement {
  DTCC_DEVICE explicit AdamElement(const Update &p)
      : beta2(static_cast<float>(p.beta2)), oneMinusBeta1(static_cast<float>(1 - p.beta1)),
        oneMinusBeta2(static_cast<float>(1 - p.beta2)) {}
  DTCC_DEVICE void operator()(const RangeStep &s, float g, float &weight, float &m, float &v) const {
    if (s.decay != 0)
      g = weight * s.decay + g;
    weight = weight * s.keep;
    m = (g - m) * oneMinusBeta1 + m;
    v = v * beta2 + (g * oneMinusBeta2) * g;
    float denominator = __builtin_sqrtf(v) / s.root + s.eps;
    weight = weight - (m / denominator) * s.rate;
  }

private:
  float beta2, oneMinusBeta1, oneMinusBeta2;
};

DTCC_DEVICE float decodedAt(const CodedMoment &moment, int64_t i) {
  return moment.numbers[moment.codes[i]] * moment.scales[i / dtcc::codeBlock];
}

DTCC_DEVICE int magnitudeBits(float value) { return __builtin_bit_cast(int, value) & 0x7fffffff; }

/// Codes the values of a block, one a thread; those of threads outside the tensor are 0 and not stored. All threads of
/// the block call it.
DTCC_DEVICE void encodeBlock(const CodedMoment &moment, int64_t i, bool isStored, float value, int *room) {
  // As integers, magnitudes that are no numbers are the largest.
  const int most = reduceBlock(magnitudeBits(value), room, [](int a, int b) { return largest(a, b); });
  const float scale = __builtin_bit_cast(float, most);
  if (threadIndex() == 0)
    moment.scales[i / dtcc::codeBlock] = scale;
  if (!isStored)
    return;
  const float magnitude = most == 0 ? 0 : __builtin_bit_cast(float, magnitudeBits(value)) / scale;
  int place = 0; // how many middles are below
  for (int width = 128; width > 0; width /= 2)
    if (moment.middles[place + width - 1] < magnitude)
      place += width;
  const bool isNegative = __builtin_bit_cast(int, value) < 0;
  moment.codes[i] = static_cast<uint8_t>(isNegative ? moment.zero - least(place, moment.zero) : moment.zero + place);
}

} // namespace

DTCC_KERNEL(adam, Update, updateThreads) { updateChunkBy<2>(p.common, AdamElement(p)); }

DTCC_KERNEL(adam_codes, CodedAdam, updateThreads) {
  static_assert(updateThreads == dtcc::codeBlock, "a thread has a cell of a block");
  DTCC_SHARED int room[updateThreads / warpSize];
  const UpdateCommon &c = p.update.common;
  const int64_t begin = blockX() * dtcc::codeBlock, range = firstRangeBehind(c.ranges, c.rangeCount, begin);
  const float scale = *c.scale;
  // Tensors begin at blocks: a block that no range covers from its first cell on has no cell of one.
  if (scale != scale || range == c.rangeCount || c.ranges[range].begin > begin)
    return;
  const int64_t i = begin + threadIndex();
  const bool isInside = i < c.ranges[range].end;
  float m = 0, v = 0;
  if (isInside) {
    m = decodedAt(p.m, i), v = decodedAt(p.v, i);
    float weight = c.p[i];
    AdamElement(p.update)(c.steps[range], cellAt(c.grad, c.gradType, i) * scale, weight, m, v);
    c.p[i] = weight;
    writeCopy(c, i, weight);
  }
  encodeBlock(p.m, i, isInside, m, room);
  encodeBlock(p.v, i, isInside, v, room);
}

namespace {

template <bool momentum> DTCC_DEVICE void sgd(const Update &p) {
  const float decay = static_cast<float>(p.beta1);
  const float dampened = *p.common.step + p.start <= 1 ? 1.0f : static_cast<float>(1 - p.beta2);
  const bool nesterov = p.nesterov;
  updateChunkBy<momentum ? 1 : 0>(p.common, [=](const RangeStep &s, float g, float &weight, float &buffer, float &) {
    if (s.decay != 0)
      g = weight * s.decay + g;
    if (momentum) {
      buffer = buffer * decay + g * dampened;
      g = nesterov ? buffer * decay + g : buffer;
    }
    weight = weight - g * s.rate;
  });
}

} // namespace

DTCC_KERNEL(sgd_plain, Update, updateThreads) { sgd<false>(p); }
DTCC_KERNEL(sgd_momentum, Update, updateThreads) { sgd<true>(p); }

DTCC_KERNEL(adagrad, Update, updateThreads) {
  updateChunkBy<1>(p.common, [=](const RangeStep &s, float g, float &weight, float &sum, float &) {
    if (s.decay != 0)
      g = weight * s.decay + g;
    sum = g * g + sum;
    weight = weight - (g / (__builtin_sqrtf(sum) + s.eps)) * s.rate;
  });
}

DTCC_KERNEL(lion, Update, updateThreads) {
  const float beta1 = static_cast<float>(p.beta1), beta2 = static_cast<float>(p.beta2);
  const float oneMinusBeta1 = static_cast<float>(1 - p.beta1), oneMinusBeta2 = static_cast<float>(1 - p.beta2);
  updateChunkBy<1>(p.common, [=](const RangeStep &s, float g, float &weight, float &m, float &) {
    float mixed = m * beta1 + g * oneMinusBeta1;
    float sign = mixed > 0 ? 1.0f : mixed < 0 ? -1.0f : 0.0f;
    weight = weight * s.keep - sign * s.rate;
    m = m * beta2 + g * oneMinusBeta2;
  });
}
