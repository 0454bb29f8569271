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

template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_CONVOLUTION>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<ConvolutionOp>(CheckedOperands(command, rank), rank, ConvolutionDirection::Forward);
}
template <>
std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_CONVOLUTION_INPUT_GRAD>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<ConvolutionOp>(CheckedOperands(command, rank), rank, ConvolutionDirection::InputGrad);
}
template <>
std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_CONVOLUTION_KERNEL_GRAD>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<ConvolutionOp>(CheckedOperands(command, rank), rank, ConvolutionDirection::KernelGrad);
}
template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_MAX_POOL>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<PoolOp>(CheckedOperands(command, rank), rank, false);
}
template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_MAX_POOL_GRAD>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<PoolOp>(CheckedOperands(command, rank), rank, true);
}

} // namespace dtcc::rt
