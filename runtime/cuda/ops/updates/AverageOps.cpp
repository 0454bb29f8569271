//===- AverageOps.cpp - Averages of parameters over the steps, as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/updates/Average.h"
#include "runtime/cuda/ops/Operands.h"

namespace dtcc::rt::cuda {
namespace {

class AverageOp final : public CudaOp {
public:
  AverageOp(const CheckedOperands &operands, Rank &, Launcher &launcher) : kernel(launcher, "Average", "average") {
    operands.expect(3, 1);
    p.size = operands.dense(0, "p", -1).sizes[0];
    operands.scalar(1, "step", DTCC_I64);
    operands.dense(2, "average", p.size);
    p.decay = operands.real(0);
    if (!(p.decay >= 0 && p.decay < 1))
      operands.reject("decay must be at least 0 and less than 1, got: ", p.decay);
  }
  void run(Rank &, const Call &call) override {
    Average here = p;
    here.p = address<float>(call, 0), here.average = address<float>(call, 2);
    here.step = address<const int64_t>(call, 1);
    here.aligned = isAligned(here.p, 16) && isAligned(here.average, 16);
    kernel(call, partsOf(p.size, averageChunk), averageThreads, here);
  }

private:
  Average p = {};
  Kernel kernel;
};

class ExchangeOp final : public CudaOp {
public:
  ExchangeOp(const CheckedOperands &operands, Rank &, Launcher &launcher)
      : kernel(launcher, "Average", "exchange_average") {
    operands.expect(2, 0);
    p.size = operands.dense(0, "p", -1).sizes[0];
    operands.dense(1, "average", p.size);
    if (std::optional<dtcc_dtype> copyType = operands.halfCopy(2, p.size)) {
      hasCopy = true;
      p.copyType = static_cast<int32_t>(*copyType);
    }
  }
  void run(Rank &, const Call &call) override {
    Average here = p;
    here.p = address<float>(call, 0), here.average = address<float>(call, 1);
    here.copy = hasCopy ? call.buffers[2] : nullptr;
    here.aligned = isAligned(here.p, 16) && isAligned(here.average, 16);
    kernel(call, partsOf(p.size, averageChunk), averageThreads, here);
  }

private:
  Average p = {};
  bool hasCopy = false;
  Kernel kernel;
};

} // namespace

DTCC_CUDA_OP(AVERAGE, AverageOp)
DTCC_CUDA_OP(EXCHANGE, ExchangeOp)

} // namespace dtcc::rt::cuda
