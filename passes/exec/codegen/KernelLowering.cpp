//===- KernelLowering.cpp - Generated kernels to the LLVM dialect
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transcendental functions become polynomials (errors of some 1e-7, no library calls,
// 15 to 25 times the speed of libm's scalars), or on GPUs what GpuMath.h makes of them;
// the rest is upstream's conversions.
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "passes/exec/codegen/GpuKernelGenerator.h"
#include "passes/exec/codegen/GpuMath.h"
#include "passes/exec/codegen/KernelGenerator.h"

using namespace mlir;

namespace dtcc::exec {
namespace {

/// math ops on f32 scalars and vectors to polynomials. Not a pass of the command line:
/// it has no meaning outside buildKernelLowering.
struct ExpandMath : PassWrapper<ExpandMath, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMath)
  StringRef getName() const override { return "ExpandMath"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    MathPolynomialApproximationOptions options;
    populateMathPolynomialApproximationPatterns(patterns, options);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

/// From polynomials on; `library`: what is left of math calls libm.
static void lowerKernels(OpPassManager &manager, bool library) {
  manager.addPass(createCSEPass());
  manager.addPass(std::make_unique<ExpandMath>());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  if (library)
    manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

void buildKernelLowering(OpPassManager &manager) { lowerKernels(manager, /*library=*/true); }

void buildGpuKernelLowering(OpPassManager &manager) {
  manager.addPass(createCSEPass());
  manager.addPass(createGpuMath());
  lowerKernels(manager, /*library=*/false);
}

} // namespace dtcc::exec
