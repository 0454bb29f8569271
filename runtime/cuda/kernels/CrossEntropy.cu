//===- CrossEntropy.cu - Softmax cross entropy over sharded classes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are read once for their statistics (online softmax: Milakov and Gimelshein 2018)
// and once for their gradient, 16 bytes at a time where rows allow it: those of an odd
// number of classes start anywhere, so a row's first columns up to such an address are
// taken one by one. What threads hold is summed in f64, in the order of the threads.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/CrossEntropy.h"
#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/Reduce.h"

namespace dtcc::rt::cuda {
namespace {

struct alignas(16) Floats4 {
  float cells[4];
};
template <typename T> struct alignas(4 * sizeof(T)) Stored4 {
  T cells[4];
};

/// Columns before the first address that is a multiple of 16.
DTCC_DEVICE int64_t columnsToAligned(const float *row, int64_t columns) {
  int64_t rest = static_cast<int64_t>(reinterpret_cast<uint64_t>(row) / sizeof(float) % 4);
  return least<int64_t>(rest == 0 ? 0 : 4 - rest, columns);
}

/// The largest value so far and the sum of exp(value - largest).
struct Running {
  float largest, sum;
};

DTCC_DEVICE void take(Running &state, float value) {
  if (value > state.largest) {
    // Without a number so far the sum is 0, or NaN.
    state.sum = (state.largest == -infinity ? state.sum : state.sum * exponential(state.largest - value)) + 1.0f;
    state.largest = value;
  } else if (value != -infinity) {
    state.sum += exponential(value - state.largest); // NaN where value is
  }
}

/// Vectors that a thread asks for before it uses the first: memory answers late.
constexpr int together = 4;

template <int count> DTCC_DEVICE void takeAll(Running &state, const Floats4 (&vectors)[count]) {
  float top = state.largest;
#pragma unroll
  for (const Floats4 &four : vectors)
    for (float cell : four.cells)
      top = largest(cell, top);
  if (top == -infinity) {
    float all = 0; // -infinity, or NaN, which counts
#pragma unroll
    for (const Floats4 &four : vectors)
      all += four.cells[0] + four.cells[1] + four.cells[2] + four.cells[3];
    return take(state, all);
  }
  // Without a number so far the sum is 0, or NaN: 0 times it is the same.
  float sum = state.sum * exponential(state.largest - top);
#pragma unroll
  for (const Floats4 &four : vectors) {
    float part = 0;
    for (float cell : four.cells)
      part += exponential(cell - top);
    sum += part;
  }
  state = {top, sum};
}

DTCC_DEVICE int64_t columnOf(const ClassRows &shape, int64_t label) {
  int64_t column = label - shape.offset;
  return column >= 0 && column < shape.valid ? column : -1;
}

/// Stores cell(logit, its column) of `count` vectors, a block's apart from column `first` on.
template <int count, typename T, typename Cell>
DTCC_DEVICE void makeVectors(const float *row, T *grad, int64_t first, Cell cell) {
  Floats4 vectors[count];
#pragma unroll
  for (int n = 0; n < count; ++n)
    vectors[n] = *reinterpret_cast<const Floats4 *>(row + first + n * crossEntropyThreads * 4);
#pragma unroll
  for (int n = 0; n < count; ++n) {
    int64_t c = first + n * crossEntropyThreads * 4;
    Stored4<T> stored;
    for (int64_t j = 0; j < 4; ++j)
      stored.cells[j] = static_cast<T>(cell(vectors[n].cells[j], c + j));
    *reinterpret_cast<Stored4<T> *>(grad + c) = stored;
  }
}

DTCC_DEVICE double logOf(const RowLogs &logs, int64_t i) {
  return logs.wide ? static_cast<const double *>(logs.data)[i * logs.stride]
                   : static_cast<double>(static_cast<const float *>(logs.data)[i * logs.stride]);
}

DTCC_DEVICE void store(const RowLogs &logs, int64_t i, double value) {
  if (logs.wide)
    static_cast<double *>(logs.data)[i * logs.stride] = value;
  else
    static_cast<float *>(logs.data)[i * logs.stride] = static_cast<float>(value);
}

DTCC_DEVICE bool ignores(const ClassRows &shape, int64_t label) {
  return shape.hasIgnore && label == shape.ignoreIndex;
}

} // namespace
} // namespace dtcc::rt::cuda

using namespace dtcc::rt::cuda;

DTCC_KERNEL_BLOCKS(cross_entropy_stats, CrossEntropyStats, crossEntropyThreads, 4) {
  DTCC_SHARED float tops[crossEntropyThreads / warpSize];
  DTCC_SHARED double sums[crossEntropyThreads / warpSize];
  for (int64_t i = blockX(); i < p.shape.rows; i += blocksX()) {
    const float *row = p.logits + i * p.rowStride;
    const int64_t head = columnsToAligned(row, p.shape.valid), fours = (p.shape.valid - head) / 4;
    Running state = {-infinity, 0};
    if (threadIndex() < head)
      take(state, row[threadIndex()]);
    const Floats4 *aligned = reinterpret_cast<const Floats4 *>(row + head);
    int64_t c = threadIndex();
    for (; c + (together - 1) * crossEntropyThreads < fours; c += together * crossEntropyThreads) {
      Floats4 vectors[together];
#pragma unroll
      for (int n = 0; n < together; ++n)
        vectors[n] = aligned[c + n * crossEntropyThreads];
      takeAll(state, vectors);
    }
    for (; c < fours; c += crossEntropyThreads) {
      Floats4 vectors[1] = {aligned[c]};
      takeAll(state, vectors);
    }
    if (int64_t last = head + fours * 4 + threadIndex(); last < p.shape.valid)
      take(state, row[last]);
    float top = reduceBlock(state.largest, tops, [](float a, float b) { return largest(a, b); });
    // A thread without a column, or with nothing but -infinity, adds nothing; and NaN is kept in its sum.
    double mine = state.largest == -infinity ? state.sum : state.sum * exponential(state.largest - top);
    double sum = reduceBlock(mine, sums, [](double a, double b) { return a + b; });
    if (threadIndex() == 0) {
      int64_t column = columnOf(p.shape, p.shape.labels[i]);
      p.rowmax[i] = top;
      p.rowsum[i] = static_cast<float>(sum);
      p.target[i] = column >= 0 ? row[column] : 0;
    }
  }
}

DTCC_KERNEL(cross_entropy_merge, CrossEntropyMerge, crossEntropyThreads) {
  int64_t i = blockX() * crossEntropyThreads + threadIndex();
  if (i >= p.rows)
    return;
  // A shard of nothing but padding has -infinity, and so has a row of -infinity.
  float here = p.rowmax[i], top = p.gmax[i];
  p.rowsum[i] = here == top ? p.rowsum[i] : p.rowsum[i] * exponential(here - top);
}

DTCC_KERNEL(cross_entropy_loss, CrossEntropyLoss, crossEntropyLossThreads) {
  DTCC_SHARED double room[crossEntropyLossThreads / warpSize];
  double sum = 0, counted = 0;
  for (int64_t i = threadIndex(); i < p.shape.rows; i += crossEntropyLossThreads) {
    double lse = p.gmax[i] + logarithm(p.rowsum[i]);
    store(p.lse, i, lse);
    if (ignores(p.shape, p.shape.labels[i]))
      continue;
    sum += lse - p.target[i];
    counted += 1;
  }
  sum = reduceBlock(sum, room, [](double a, double b) { return a + b; });
  counted = reduceBlock(counted, room, [](double a, double b) { return a + b; });
  if (threadIndex() == 0) {
    *p.lossSum = static_cast<float>((p.accumulate ? *p.lossSum : 0.0) + sum);
    *p.count = (p.accumulate ? *p.count : 0.0f) + static_cast<float>(counted);
  }
}

/// Gradients are rounded as they are stored: products read halves.
template <typename T> static DTCC_DEVICE void gradient(const CrossEntropyGrad &p) {
  for (int64_t i = blockX(); i < p.shape.rows; i += blocksX()) {
    const float *row = p.logits + i * p.rowStride;
    T *grad = static_cast<T *>(p.dlogits) + i * p.gradStride;
    const int64_t label = p.shape.labels[i], column = columnOf(p.shape, label);
    const int64_t valid = ignores(p.shape, label) ? 0 : p.shape.valid;
    // The bits of the logarithm that f32 drops would be a factor of the whole row.
    const double log = logOf(p.lse, i);
    const float lse = static_cast<float>(log);
    const float factor = lse - lse == 0 ? exponential(static_cast<float>(lse - log)) : 1.0f;
    auto cell = [&](float logit, int64_t c) {
      return c < valid ? exponential(logit - lse) * factor - (c == column ? 1.0f : 0.0f) : 0.0f;
    };
    const int64_t head = columnsToAligned(row, p.shape.columns);
    const bool alike = reinterpret_cast<uint64_t>(grad + head) % sizeof(Stored4<T>) == 0;
    const int64_t fours = alike ? (p.shape.columns - head) / 4 : 0;
    if (threadIndex() < head)
      grad[threadIndex()] = static_cast<T>(cell(row[threadIndex()], threadIndex()));
    int64_t x = threadIndex();
    for (; x + (together - 1) * crossEntropyThreads < fours; x += together * crossEntropyThreads)
      makeVectors<together>(row, grad, head + x * 4, cell);
    for (; x < fours; x += crossEntropyThreads)
      makeVectors<1>(row, grad, head + x * 4, cell);
    for (int64_t c = head + fours * 4 + threadIndex(); c < p.shape.columns; c += crossEntropyThreads)
      grad[c] = static_cast<T>(cell(row[c], c));
  }
}

DTCC_KERNEL(cross_entropy_grad_f32, CrossEntropyGrad, crossEntropyThreads) { gradient<float>(p); }
DTCC_KERNEL(cross_entropy_grad_bf16, CrossEntropyGrad, crossEntropyThreads) { gradient<__bf16>(p); }
DTCC_KERNEL(cross_entropy_grad_f16, CrossEntropyGrad, crossEntropyThreads) { gradient<_Float16>(p); }
