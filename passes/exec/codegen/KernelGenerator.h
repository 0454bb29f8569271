//===- KernelGenerator.h - A fused region becomes machine code
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the body of a fused op into an LLVM function of the type `dtcc_kernel`
// (runtime/abi/dtcc_rt.h): vector code of 16 lanes for the innermost dimension, masked
// at its end, any sizes and strides. Reductions accumulate per lane and are folded at
// the end of a row; column sums are accumulated in two levels, so that the rounding
// error of a sum over thousands of rows stays that of some tens.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_CODEGEN_KERNELGENERATOR_H
#define DTCC_PASSES_EXEC_CODEGEN_KERNELGENERATOR_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "passes/exec/codegen/KernelSource.h"

namespace dtcc::exec {

/// A kernel's function and how the executor is to share it out (see dtcc_command).
struct GeneratedKernel {
  mlir::LLVM::LLVMFuncOp function;
  int64_t extent = 0;
  int64_t grain = 1;
  double flops = 0;
  double bytes = 0;
};

/// Generates the function `source.name` at the builder's insertion point (module level). Fails
/// with a diagnostic if the body is not one kernel (see KernelDomain).
mlir::FailureOr<GeneratedKernel> generateKernel(mlir::OpBuilder &builder, const KernelSource &source);

/// Lowers generated functions (scf, arith, math, vector) to the LLVM dialect.
void buildKernelLowering(mlir::OpPassManager &manager);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_CODEGEN_KERNELGENERATOR_H
