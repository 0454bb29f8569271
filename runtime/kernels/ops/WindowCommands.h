//===- WindowCommands.h - Convolution and pooling commands, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_WINDOWCOMMANDS_H
#define DTCC_RUNTIME_KERNELS_OPS_WINDOWCOMMANDS_H

#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/window/Convolution.h"
#include "runtime/kernels/window/Pooling.h"

namespace dtcc::rt {

/// Operands and attributes of a convolution or one of its gradients, checked.
struct ConvolutionCommand {
  ConvolutionCommand(const CheckedOperands &operands, ConvolutionDirection direction);
  ConvolutionProblem problem;
  Accumulation accumulate = Accumulation::Never; // of the kernel's gradient
};

/// The command of a pooling or of its gradient. Every window holds a cell of the image. Images are [n, c, d, h, w], in
/// memory too, or all with channels last.
struct PoolCommand {
  PoolCommand(const CheckedOperands &operands, bool gradient);
  PoolProblem problem;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_WINDOWCOMMANDS_H
