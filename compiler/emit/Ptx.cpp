//===- Ptx.cpp - GPU kernels as PTX
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/Ptx.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/emit/Object.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "passes/exec/codegen/GpuKernelGenerator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace dtcc;

/// bf16 arithmetic and conversions.
static constexpr unsigned kOldest = 80;

/// The version of PTX that each generation needs at least: what is newer than the driver cannot be loaded. LLVM takes
/// that by itself for newer ones than what we need of the language is.
static StringRef ptxFeature(unsigned generation) { return generation >= 100 ? "" : "+ptx80"; }

FailureOr<std::unique_ptr<llvm::TargetMachine>> dtcc::createGpuTarget(StringRef architecture) {
  auto wrong = [&](const llvm::Twine &message) -> FailureOr<std::unique_ptr<llvm::TargetMachine>> {
    errorStream() << message << '\n';
    return failure();
  };
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return wrong("no code generator for GPUs: " + message);
  unsigned generation = 0;
  StringRef number = architecture;
  // Code for sm_90a and the like runs on no later GPU.
  bool known = number.consume_front("sm_") && !number.getAsInteger(10, generation);
  std::unique_ptr<llvm::MCSubtargetInfo> processors(target->createMCSubtargetInfo(triple, "", ""));
  if (!known || !processors || !processors->isCPUStringValid(architecture) || generation < kOldest)
    return wrong("--gpu-arch must be sm_80 or a later architecture that LLVM knows, as sm_90, got: " + architecture);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, architecture, ptxFeature(generation), llvm::TargetOptions(), std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

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
