//===- WindowOps.cpp - Convolution and pooling as library ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Elements.h"
#include "runtime/core/Error.h"
#include "runtime/kernels/onednn/OneDnnConvolution.h"
#include "runtime/kernels/ops/LibraryOps.h"
#include "runtime/kernels/ops/WindowCommands.h"
#include "runtime/kernels/window/Pooling.h"
#include "runtime/kernels/window/Winograd.h"

#include <optional>
#include <utility>

namespace dtcc::rt {
namespace {

/// Names of the ways in files of choices (runtime/tuning/Choices.h).
constexpr const char *byLibrary = "onednn", *byColumns = "ours", *byWinograd = "winograd";

/// The command of a processor, whose kernels take no other order.
ConvolutionCommand denseCommand(const CheckedOperands &operands, ConvolutionDirection direction) {
  ConvolutionCommand command(operands, direction);
  if (command.problem.channelsLast.any())
    operands.reject("processors take no operands whose channels are last");
  return command;
}

class ConvolutionOp final : public LibraryOp, public OpWays {
public:
  ConvolutionOp(const CheckedOperands &operands, Rank &rank, ConvolutionDirection direction)
      : command(denseCommand(operands, direction)), direction(direction),
        library(createOneDnnConvolution(command.problem, direction)) {
    if (WinogradConvolution::fits(command.problem))
      winograd.emplace(command.problem, direction, rank.team.threads());
    take(WinogradConvolution::pays(command.problem) ? byWinograd : library ? byLibrary : byColumns, rank);
  }

  OpWays *ways() override { return this; }
  std::string problem() const override {
    const ConvolutionProblem &p = command.problem;
    static const char *const names[] = {"convolution", "convolution_input_grad", "convolution_kernel_grad"};
    std::string text = message(names[static_cast<size_t>(direction)], " ", p.samples, " x ", p.groups, " x ", p.inputs,
                               " x ", p.outputs, "; ", dtypeName(p.type), " to ", dtypeName(p.outType));
    const Window &w = p.window;
    for (const auto &[name, three] : {std::pair("image", w.image),
                                      {"window", w.window},
                                      {"result", w.result},
                                      {"strides", w.strides},
                                      {"dilations", w.dilations},
                                      {"low", w.low}})
      text += message("; ", name, " ", three[0], " ", three[1], " ", three[2]);
    return text + message("; accumulate ", static_cast<int>(command.accumulate));
  }
  std::vector<std::string> names(Rank &) override {
    std::vector<std::string> all{byColumns};
    if (library)
      all.insert(all.begin(), byLibrary);
    if (winograd)
      all.push_back(byWinograd);
    return all;
  }
  bool take(const std::string &name, Rank &rank) override {
    if ((name == byLibrary && !library) || (name == byWinograd && !winograd))
      return false;
    if (name == byLibrary)
      rank.scratch.reserveTotal(library->scratchBytes());
    else if (name == byWinograd)
      rank.scratch.reserveTotal(winograd->scratchBytes());
    else if (name == byColumns)
      rank.scratch.reserve(static_cast<size_t>(convolutionScratch(command.problem)) * sizeof(float));
    else
      return false;
    way = name;
    return true;
  }

  void run(Rank &rank, void *const *buffers) override {
    const ConvolutionProblem &p = command.problem;
    const VectorKernels &kernels = vectorKernels();
    const void *first = buffers[0], *second = buffers[1];
    void *result = buffers[2];
    const bool adds = direction == ConvolutionDirection::KernelGrad && accumulates(command.accumulate, rank);
    if (way == byLibrary)
      return library->run(first, second, result, adds, rank.scratch.at<std::byte>(0));
    if (way == byWinograd)
      return winograd->run(rank.team, kernels, static_cast<const float *>(first), static_cast<const float *>(second),
                           adds, static_cast<float *>(result), rank.scratch.at<float>(0));
    switch (direction) {
    case ConvolutionDirection::Forward:
      return convolution(rank.team, kernels, p, first, second, result, rank.scratch);
    case ConvolutionDirection::InputGrad:
      return convolutionInputGrad(rank.team, kernels, p, first, second, result, rank.scratch);
    case ConvolutionDirection::KernelGrad:
      return convolutionKernelGrad(rank.team, kernels, p, first, second, adds, result, rank.scratch);
    }
  }

private:
  ConvolutionCommand command;
  ConvolutionDirection direction;
  std::unique_ptr<OneDnnConvolution> library;  // null: not possible
  std::optional<WinogradConvolution> winograd; // none: not possible
  std::string way;
};

class PoolOp final : public LibraryOp {
public:
  PoolOp(const CheckedOperands &operands, Rank &rank, bool gradient) : command(operands, gradient), gradient(gradient) {
    if (command.problem.channelsLast)
      operands.reject("processors take no images whose channels are last");
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
