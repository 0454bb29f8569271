//===- PoolingOps.cpp - Pooling as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/product/Pooling.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/kernels/ops/WindowCommands.h"

namespace dtcc::rt::cuda {
namespace {

class PoolOp final : public CudaOp {
public:
  PoolOp(const CheckedOperands &operands, Rank &, Launcher &launcher, bool gradient)
      : gradient(gradient), kernel(launcher, "Pooling", gradient ? "max_pool_grad" : "max_pool") {
    const PoolProblem problem = PoolCommand(operands, gradient).problem;
    p.window = problem.window, p.planes = problem.planes, p.type = problem.type;
  }
  void run(Rank &, const Call &call) override {
    p.x = call.buffers[gradient ? 1 : 0];
    if (gradient)
      p.dy = call.buffers[0];
    p.y = call.buffers[gradient ? 2 : 1];
    const int64_t cells = p.planes * (gradient ? p.window.imageCells() : p.window.resultCells());
    kernel(call, partsOf(cells, poolThreads), poolThreads, p);
  }

private:
  Pool p = {};
  bool gradient;
  Kernel kernel;
};

} // namespace

DTCC_CUDA_OP(MAX_POOL, PoolOp, /*gradient=*/false)
DTCC_CUDA_OP(MAX_POOL_GRAD, PoolOp, /*gradient=*/true)

} // namespace dtcc::rt::cuda
