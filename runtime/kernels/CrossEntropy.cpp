//===- CrossEntropy.cpp - Softmax cross entropy over sharded classes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/CrossEntropy.h"
#include "runtime/core/HalfFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace dtcc::rt {
namespace {

/// Rows that are worth a thread.
int64_t grainRows(const ClassShard &shard) {
  constexpr int64_t grainElements = 8192;
  return std::max<int64_t>(1, grainElements / std::max<int64_t>(shard.columns, 1));
}

/// The column of `label` if it is a valid column here, else -1.
int64_t columnOf(const ClassShard &shard, int64_t label) {
  int64_t column = label - shard.offset;
  return column >= 0 && column < shard.valid() ? column : -1;
}

} // namespace

void crossEntropyStats(ThreadTeam &team, const VectorKernels &kernels, const ClassShard &shard, const float *logits,
                       int64_t rowStride, const Integers &labels, Vector<float> rowmax, Vector<float> rowsum,
                       Vector<float> target) {
  const int64_t valid = shard.valid();
  team.parallelFor(shard.rows, grainRows(shard), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float *row = logits + i * rowStride;
      float largest = -std::numeric_limits<float>::infinity();
      double sum = 0;
      if (valid > 0)
        kernels.rowStatistics(row, valid, &largest, &sum);
      int64_t column = columnOf(shard, labels[i]);
      rowmax[i] = largest;
      rowsum[i] = static_cast<float>(sum);
      target[i] = column >= 0 ? row[column] : 0;
    }
  });
}

void crossEntropyMerge(int64_t rows, Vector<const float> rowmax, Vector<const float> gmax, Vector<float> rowsum) {
  for (int64_t i = 0; i < rows; ++i) {
    // A shard of nothing but padding has -infinity, and so has a row of -infinity.
    double shift = rowmax[i] == gmax[i] ? 0.0 : static_cast<double>(rowmax[i]) - gmax[i];
    rowsum[i] = static_cast<float>(rowsum[i] * std::exp(shift));
  }
}

void crossEntropyLoss(int64_t rows, Vector<const float> gmax, Vector<const float> rowsum, Vector<const float> target,
                      const Integers &labels, const IgnoredLabels &ignored, bool accumulate, const RowLogs &lse,
                      float &lossSum, float &count) {
  double sum = 0;
  int64_t counted = 0;
  for (int64_t i = 0; i < rows; ++i) {
    double logSum = static_cast<double>(gmax[i]) + std::log(static_cast<double>(rowsum[i]));
    lse.set(i, logSum);
    if (ignored.ignores(labels[i]))
      continue;
    sum += logSum - target[i];
    ++counted;
  }
  lossSum = static_cast<float>((accumulate ? lossSum : 0.0) + sum);
  count = (accumulate ? count : 0.0f) + static_cast<float>(counted);
}

/// A row of halves.
static void storeHalves(const float *wide, int64_t count, uint16_t *halves, dtcc_dtype type) {
  if (type == DTCC_BF16)
    std::transform(wide, wide + count, halves, toBF16);
  else
    std::transform(wide, wide + count, halves, toF16);
}

void crossEntropyGrad(ThreadTeam &team, const VectorKernels &kernels, const ClassShard &shard, const float *logits,
                      int64_t rowStride, const Integers &labels, const RowLogs &lse, const IgnoredLabels &ignored,
                      void *dlogits, int64_t gradStride, dtcc_dtype type) {
  const int64_t valid = shard.valid();
  team.parallelFor(shard.rows, grainRows(shard), [&](int64_t begin, int64_t end) {
    std::vector<float> wide(type == DTCC_F32 ? 0 : static_cast<size_t>(shard.columns));
    for (int64_t i = begin; i < end; ++i) {
      float *grad = type == DTCC_F32 ? static_cast<float *>(dlogits) + i * gradStride : wide.data();
      int64_t label = labels[i], written = ignored.ignores(label) ? 0 : valid;
      if (written > 0) {
        // The bits of the logarithm that f32 drops would be a factor of the whole row.
        const double log = lse.get(i);
        const auto shift = static_cast<float>(log), factor = static_cast<float>(std::exp(shift - log));
        kernels.shiftedExponential(logits + i * rowStride, written, shift, grad);
        if (factor < 1 || factor > 1)
          for (int64_t c = 0; c < written; ++c)
            grad[c] *= factor;
        if (int64_t column = columnOf(shard, label); column >= 0)
          grad[column] -= 1;
      }
      std::memset(grad + written, 0, static_cast<size_t>(shard.columns - written) * sizeof(float));
      if (type != DTCC_F32)
        storeHalves(grad, shard.columns, static_cast<uint16_t *>(dlogits) + i * gradStride, type);
    }
  });
}

} // namespace dtcc::rt
