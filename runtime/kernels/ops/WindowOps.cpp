//===- WindowOps.cpp - Convolution and pooling as library ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Pooling.h"
#include "runtime/kernels/onednn/OneDnnConvolution.h"
#include "runtime/kernels/ops/LibraryOps.h"
#include "runtime/kernels/ops/WindowCommands.h"

namespace dtcc::rt {
namespace {

class ConvolutionOp final : public LibraryOp {
public:
  ConvolutionOp(const CheckedOperands &operands, Rank &rank, ConvolutionDirection direction)
      : command(operands, direction), direction(direction),
        library(createOneDnnConvolution(command.problem, direction)) {
    if (library)
      rank.scratch.reserveTotal(library->scratchBytes());
    else
      rank.scratch.reserve(static_cast<size_t>(convolutionScratch(command.problem)) * sizeof(float));
  }
  void run(Rank &rank, void *const *buffers) override {
    const ConvolutionProblem &p = command.problem;
    const VectorKernels &kernels = vectorKernels();
    const void *first = buffers[0], *second = buffers[1];
    void *result = buffers[2];
    if (library) {
      const bool adds = direction == ConvolutionDirection::KernelGrad && accumulates(command.accumulate, rank);
      return library->run(first, second, result, adds, rank.scratch.at<std::byte>(0));
    }
    switch (direction) {
    case ConvolutionDirection::Forward:
      return convolution(rank.team, kernels, p, first, second, result, rank.scratch);
    case ConvolutionDirection::InputGrad:
      return convolutionInputGrad(rank.team, kernels, p, first, second, result, rank.scratch);
    case ConvolutionDirection::KernelGrad:
      return convolutionKernelGrad(rank.team, kernels, p, first, second, accumulates(command.accumulate, rank), result,
                                   rank.scratch);
    }
  }

private:
  ConvolutionCommand command;
  ConvolutionDirection direction;
  std::unique_ptr<OneDnnConvolution> library; // null: our own kernel
};

class PoolOp final : public LibraryOp {
public:
  PoolOp(const CheckedOperands &operands, Rank &rank, bool gradient) : command(operands, gradient), gradient(gradient) {
    rank.scratch.reserve(static_cast<size_t>(poolScratch(command.problem)) * sizeof(float));
  }
  void run(Rank &rank, void *const *buffers) override {
    if (gradient)
      maxPoolGrad(rank.team, vectorKernels(), command.problem, buffers[0], buffers[1], buffers[2], rank.scratch);
    else
      maxPool(rank.team, vectorKernels(), command.problem, buffers[0], buffers[1], rank.scratch);
  }

private:
  PoolCommand command;
  bool gradient;
};

} // namespace

DTCC_CPU_OP(CONVOLUTION, ConvolutionOp, ConvolutionDirection::Forward)
DTCC_CPU_OP(CONVOLUTION_INPUT_GRAD, ConvolutionOp, ConvolutionDirection::InputGrad)
DTCC_CPU_OP(CONVOLUTION_KERNEL_GRAD, ConvolutionOp, ConvolutionDirection::KernelGrad)
DTCC_CPU_OP(MAX_POOL, PoolOp, false)
DTCC_CPU_OP(MAX_POOL_GRAD, PoolOp, true)

} // namespace dtcc::rt
