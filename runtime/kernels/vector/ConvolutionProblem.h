//===- ConvolutionProblem.h - What a convolution computes -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The argument of our own convolution and of oneDNN's.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_VECTOR_CONVOLUTIONPROBLEM_H
#define DTCC_RUNTIME_KERNELS_VECTOR_CONVOLUTIONPROBLEM_H

#include "runtime/abi/dtcc_rt.h"
#include "runtime/kernels/vector/Window.h"

namespace dtcc::rt {

/// x [samples, groups, inputs, image], kernel [groups, outputs, inputs, window],
/// y [samples, groups, outputs, result].
struct ConvolutionProblem {
  int64_t samples = 1, groups = 1, inputs = 1, outputs = 1;
  Window window;
  dtcc_dtype type = DTCC_F32, outType = DTCC_F32; // of operands: f32, bf16 or f16; of the result: that, or f32
};

/// The convolution, or which of its gradients.
enum class ConvolutionDirection { Forward, InputGrad, KernelGrad };

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_VECTOR_CONVOLUTIONPROBLEM_H
