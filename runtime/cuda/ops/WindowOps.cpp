//===- WindowOps.cpp - Convolution and pooling as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Product.h"
#include "runtime/cuda/kernels/Windows.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/kernels/WindowCommands.h"

namespace dtcc::rt::cuda {
namespace {

class ConvolutionOp final : public CudaOp {
public:
  ConvolutionOp(const CheckedOperands &operands, Rank &, Launcher &launcher, ConvolutionDirection direction,
                const char *name)
      : direction(direction), kernel(launcher, "Convolution", name) {
    ConvolutionCommand command(operands, direction);
    const ConvolutionProblem &problem = command.problem;
    p.window = problem.window, p.examples = problem.examples, p.groups = problem.groups;
    p.inputs = problem.inputs, p.outputs = problem.outputs;
    accumulate = command.accumulate;
    const int64_t cells = p.window.resultCells(), taps = p.window.windowCells(), pixels = p.window.imageCells();
    const bool ofKernel = direction == ConvolutionDirection::KernelGrad;
    int64_t tiles = ofKernel                                       ? productTiles(p.outputs, p.inputs * taps)
                    : direction == ConvolutionDirection::InputGrad ? productTiles(p.inputs, pixels)
                                                                   : productTiles(p.outputs, cells);
    shape.grid[0] = static_cast<unsigned>(tiles);
    shape.grid[2] = static_cast<unsigned>(std::min<int64_t>(ofKernel ? p.groups : p.examples * p.groups, 65535));
    shape.block[0] = productThreads;
  }
  void run(Rank &rank, const Call &call) override {
    Convolution here = p;
    const auto first = address<const float>(call, 0), second = address<const float>(call, 1);
    here.result = address<float>(call, 2);
    here.x = direction == ConvolutionDirection::KernelGrad ? second : first;
    here.kernel = second;
    here.y = first;
    here.accumulate = accumulates(accumulate, rank);
    kernel(call, shape, here);
  }

private:
  Convolution p = {};
  ConvolutionDirection direction;
  Accumulation accumulate = Accumulation::Never;
  LaunchShape shape;
  Kernel kernel;
};

class PoolOp final : public CudaOp {
public:
  PoolOp(const CheckedOperands &operands, Rank &, Launcher &launcher, bool gradient)
      : gradient(gradient), kernel(launcher, "Pooling", gradient ? "max_pool_grad" : "max_pool") {
    PoolCommand command(operands, gradient);
    p.window = command.window, p.planes = command.planes;
  }
  void run(Rank &, const Call &call) override {
    p.x = address<const float>(call, gradient);
    if (gradient)
      p.dy = address<const float>(call, 0);
    p.y = address<float>(call, gradient ? 2 : 1);
    const int64_t cells = p.planes * (gradient ? p.window.imageCells() : p.window.resultCells());
    kernel(call, partsOf(cells, poolThreads), poolThreads, p);
  }

private:
  Pool p = {};
  bool gradient;
  Kernel kernel;
};

} // namespace

DTCC_CUDA_OP(CONVOLUTION, ConvolutionOp, ConvolutionDirection::Forward, "convolution")
DTCC_CUDA_OP(CONVOLUTION_INPUT_GRAD, ConvolutionOp, ConvolutionDirection::InputGrad, "convolution_input_grad")
DTCC_CUDA_OP(CONVOLUTION_KERNEL_GRAD, ConvolutionOp, ConvolutionDirection::KernelGrad, "convolution_kernel_grad")
DTCC_CUDA_OP(MAX_POOL, PoolOp, /*gradient=*/false)
DTCC_CUDA_OP(MAX_POOL_GRAD, PoolOp, /*gradient=*/true)

} // namespace dtcc::rt::cuda
