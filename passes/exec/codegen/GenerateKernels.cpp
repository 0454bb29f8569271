//===- GenerateKernels.cpp - Replace exec.func by machine code
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One exec.func, one llvm.func; see codegen/KernelGenerator.h.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/exec/Passes.h"
#include "passes/exec/codegen/KernelGenerator.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_GENERATEKERNELS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

struct GenerateKernels : impl::GenerateKernelsBase<GenerateKernels> {
  void runOnOperation() override {
    auto generate = [](OpBuilder &builder, const KernelSource &source) -> LogicalResult {
      FailureOr<GeneratedKernel> kernel = generateKernel(builder, source);
      if (failed(kernel))
        return failure();
      kernel->function->setAttr("dtcc.extent", builder.getI64IntegerAttr(kernel->extent));
      kernel->function->setAttr("dtcc.grain", builder.getI64IntegerAttr(kernel->grain));
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
