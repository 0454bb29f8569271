//===- CompileTarget.h - The processors and GPUs that a program is for
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_OPTIONS_COMPILETARGET_H
#define DTCC_COMPILER_OPTIONS_COMPILETARGET_H

#include "compiler/options/Options.h"
#include "passes/exec/Target.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace dtcc {

/// The target of resolved options. For other options the first target, unless --target names one.
const exec::Target &targetOf(const Options &options);

/// The architectures of --gpu-arch=sm_80,sm_90, ascending. Each has been found to be one that LLVM knows.
llvm::SmallVector<std::string> gpuArchitectures(const Options &options);

/// 90 of "sm_90".
unsigned architectureNumber(llvm::StringRef architecture);

/// The GPU that kernels are generated for: "sm_90". Fails with a message (without location)
/// for one that LLVM does not know or that is older than sm_80, where bf16 begins.
mlir::FailureOr<std::unique_ptr<llvm::TargetMachine>> createGpuTarget(llvm::StringRef architecture);

} // namespace dtcc

#endif // DTCC_COMPILER_OPTIONS_COMPILETARGET_H
