//===- GpuMath.h - Functions of f32 by instructions of GPUs ----- -*- C++ -*-=//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_CODEGEN_GPUMATH_H
#define DTCC_PASSES_EXEC_CODEGEN_GPUMATH_H

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace dtcc::exec {

/// Rewrites exponentials, logarithms, powers, sine and cosine, tanh, erf, quotients, remainders and reciprocal roots of
/// f32, scalars and vectors, to the instructions by which GPUs approximate them, a few units in the last place off. The
/// results for zeros, infinities and NaN are those of C's functions. All other ops are left. Not a pass of the command
/// line: it has no meaning outside buildGpuKernelLowering.
std::unique_ptr<mlir::Pass> createGpuMath();

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_CODEGEN_GPUMATH_H
