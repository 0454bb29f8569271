//===- Ptx.cpp - GPU kernels as PTX
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Ptx.h"
#include "compiler/emit/Object.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "passes/exec/codegen/GpuKernelGenerator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace dtcc;

std::unique_ptr<llvm::Module> dtcc::translateGpuKernels(ModuleOp module, llvm::LLVMContext &context) {
  registerNVVMDialectTranslation(*module.getContext());
  return translateKernels(module, context, exec::buildGpuKernelLowering);
}

FailureOr<std::string> dtcc::emitPtx(ModuleOp module, llvm::TargetMachine &target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateGpuKernels(module, context);
  if (!code)
    return failure();
  code->setTargetTriple(target.getTargetTriple());
  code->setDataLayout(target.createDataLayout());
  if (llvm::Error error = makeOptimizingTransformer(3, 0, &target)(code.get())) {
    llvm::WithColor::error() << "optimization failed: " << llvm::toString(std::move(error)) << '\n';
    return failure();
  }
  SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager manager;
  if (target.addPassesToEmitFile(manager, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    llvm::WithColor::error() << "the code generator cannot write PTX\n";
    return failure();
  }
  manager.run(*code);
  return std::string(text.begin(), text.end());
}
