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

#include "dialects/dist/Dist.h"
#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/exec/Passes.h"
#include "passes/exec/codegen/KernelGenerator.h"
#include "passes/exec/codegen/WidenHalves.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_GENERATEKERNELS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

struct GenerateKernels : impl::GenerateKernelsBase<GenerateKernels> {
  void runOnOperation() override {
    std::optional<dist::Mesh> mesh;
    for (auto op : getOperation().getOps<dist::MeshOp>())
      mesh = dist::toMesh(op);
    for (FuncOp func : llvm::make_early_inc_range(getOperation().getOps<FuncOp>())) {
      SmallVector<MemRefType> inputs, outputs;
      for (unsigned i = 0, e = func.getBody().front().getNumArguments(); i < e; ++i)
        inputs.push_back(func.getInputBuffer(i));
      for (unsigned i = 0, e = func.getYield()->getNumOperands(); i < e; ++i)
        outputs.push_back(func.getOutputBuffer(i));
      OpBuilder builder(func);
      widenHalves(func.getBody().front());
      std::string name = func.getSymName().str();
      auto kernel = generateKernel(builder, func.getLoc(), name, func.getBody().front(), inputs, outputs,
                                   func.getAccumulate(), mesh ? &*mesh : nullptr);
      if (failed(kernel))
        return signalPassFailure();
      kernel->function->setAttr("dtcc.extent", builder.getI64IntegerAttr(kernel->extent));
      kernel->function->setAttr("dtcc.grain", builder.getI64IntegerAttr(kernel->grain));
      kernel->function->setAttr("dtcc.flops", builder.getF64FloatAttr(kernel->flops));
      kernel->function->setAttr("dtcc.bytes", builder.getF64FloatAttr(kernel->bytes));
      func.erase();
    }
  }
};
} // namespace
} // namespace dtcc::exec
