//===- GpuKernelGenerator.h - A fused region becomes a GPU kernel
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPU kernels with the bodies, loops and cells of KernelGenerator's. A thread works on
// vectors of up to 8 cells, 16 bytes of the narrowest buffer, if sizes, strides and
// addresses allow.
//
//   Map     a thread a vector
//   Row     a block a row, which its threads keep in registers from the first pass to the
//           last, or read again where it is too long; they fold by shuffles inside warps
//           and through shared memory between them. Short rows share a block
//   Column  a block for some columns, of no less than what memory hands out at once, and
//           narrower the fewer columns there are; as many threads as fit share the rows.
//           Sums of a column are folded as those of rows
//
// Memory answers late: a thread asks for several vectors before it uses the first.
// Folds have a fixed order: equal bits in every run.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_CODEGEN_GPUKERNELGENERATOR_H
#define DTCC_PASSES_EXEC_CODEGEN_GPUKERNELGENERATOR_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "passes/exec/codegen/KernelSource.h"

namespace dtcc::exec {

/// The dialects of generated kernels. NVVM's headers take seconds to parse: one file includes them.
void addGpuKernelDialects(mlir::DialectRegistry &registry);

/// A kernel and its launch: `grid` blocks of `block` threads, both one-dimensional.
struct GeneratedGpuKernel {
  mlir::LLVM::LLVMFuncOp function;
  int64_t grid = 1, block = 1;
  double flops = 0;
  double bytes = 0;
};

/// Generates a kernel for a GPU. The parameters of the function are the record of the rank (dtcc_rank,
/// in device memory) and the buffers, inputs first, with the alignment of the source. The function is
/// marked `nvvm.kernel`.
mlir::FailureOr<GeneratedGpuKernel> generateGpuKernel(mlir::OpBuilder &builder, const KernelSource &source);

/// Lowers generated functions to the LLVM and NVVM dialects. Nothing is left to a library of
/// device functions: what has no polynomial stays, and translation says so.
void buildGpuKernelLowering(mlir::OpPassManager &manager);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_CODEGEN_GPUKERNELGENERATOR_H
