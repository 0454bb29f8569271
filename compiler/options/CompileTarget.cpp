//===- CompileTarget.cpp - The processors and GPUs that a program is for
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/options/CompileTarget.h"
#include "compiler/console/ErrorStream.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include <memory>

using namespace mlir;
using namespace dtcc;

const exec::Target &dtcc::targetOf(const Options &options) {
  const exec::Target *target = exec::findTarget(options.target);
  return target ? *target : exec::kTargets[0];
}

unsigned dtcc::architectureNumber(StringRef architecture) {
  unsigned number = 0;
  architecture.consume_front("sm_");
  (void)architecture.consumeInteger(10, number);
  return number;
}

SmallVector<std::string> dtcc::gpuArchitectures(const Options &options) {
  SmallVector<std::string> all;
  for (StringRef architecture : llvm::split(options.gpuArch, ','))
    if (!llvm::is_contained(all, architecture))
      all.push_back(architecture.str());
  llvm::sort(all,
             [](const std::string &a, const std::string &b) { return architectureNumber(a) < architectureNumber(b); });
  return all;
}

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
