//===- AverageOps.cpp - Averages of parameters over the steps -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Optimizer.h"
#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"

#include <algorithm>

namespace dtcc::rt {
namespace {

/// Elements that are worth a thread.
constexpr int64_t averageGrain = 16384;

class AverageOp final : public LibraryOp {
public:
  AverageOp(const CheckedOperands &operands, Rank &) {
    operands.expect(3, 1);
    size = operands.dense(0, "p", -1).sizes[0];
    operands.scalar(1, "step", DTCC_I64);
    operands.dense(2, "average", size);
    decay = operands.real(0);
    if (!(decay >= 0 && decay < 1))
      operands.reject("decay must be at least 0 and less than 1, got: ", decay);
  }
  void run(Rank &rank, void *const *buffers) override {
    const auto *p = static_cast<const float *>(buffers[0]);
    auto *average = static_cast<float *>(buffers[2]);
    // The first average is the parameters themselves, as torch.optim.swa_utils.AveragedModel has it.
    const float weight = *static_cast<const int64_t *>(buffers[1]) <= 1 ? 1.0f : static_cast<float>(1 - decay);
    rank.team.parallelFor(size, averageGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        average[i] = weight == 1.0f ? p[i] : average[i] + weight * (p[i] - average[i]);
    });
  }

private:
  int64_t size;
  double decay;
};

class ExchangeOp final : public LibraryOp {
public:
  ExchangeOp(const CheckedOperands &operands, Rank &) {
    operands.expect(2, 0);
    size = operands.dense(0, "p", -1).sizes[0];
    operands.dense(1, "average", size);
    copyType = operands.halfCopy(2, size);
  }
  void run(Rank &rank, void *const *buffers) override {
    auto *p = static_cast<float *>(buffers[0]), *average = static_cast<float *>(buffers[1]);
    rank.team.parallelFor(size, averageGrain, [&](int64_t begin, int64_t end) {
      std::swap_ranges(p + begin, p + end, average + begin);
      if (copyType)
        vectorKernels().narrow(*copyType, p + begin, end - begin, static_cast<uint16_t *>(buffers[2]) + begin);
    });
  }

private:
  int64_t size;
  std::optional<dtcc_dtype> copyType;
};

} // namespace

DTCC_CPU_OP(AVERAGE, AverageOp)
DTCC_CPU_OP(EXCHANGE, ExchangeOp)

} // namespace dtcc::rt
