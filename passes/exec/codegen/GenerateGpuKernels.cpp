//===- GenerateGpuKernels.cpp - Replace exec.func by code of a GPU
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One exec.func, one llvm.func that is a kernel; see codegen/GpuKernelGenerator.h.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Passes.h"
#include "passes/exec/codegen/GpuKernelGenerator.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_GENERATEGPUKERNELS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

struct GenerateGpuKernels : impl::GenerateGpuKernelsBase<GenerateGpuKernels> {
  void getDependentDialects(DialectRegistry &registry) const override { addGpuKernelDialects(registry); }

  void runOnOperation() override {
    auto generate = [](OpBuilder &builder, const KernelSource &source) -> LogicalResult {
      FailureOr<GeneratedGpuKernel> kernel = generateGpuKernel(builder, source);
      if (failed(kernel))
        return failure();
      kernel->function->setAttr("dtcc.grid", builder.getI64IntegerAttr(kernel->grid));
      kernel->function->setAttr("dtcc.block", builder.getI64IntegerAttr(kernel->block));
      kernel->function->setAttr("dtcc.flops", builder.getF64FloatAttr(kernel->flops));
      kernel->function->setAttr("dtcc.bytes", builder.getF64FloatAttr(kernel->bytes));
      return success();
    };
    if (failed(replaceFuncs(getOperation(), generate)))
      signalPassFailure();
  }
};
} // namespace
} // namespace dtcc::exec
