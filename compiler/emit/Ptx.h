//===- Ptx.h - GPU kernels as PTX
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA's assembly as LLVM writes it. Nothing of a CUDA toolkit takes part, and the text
// refers to no library: a driver assembles it for the card that it finds.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_EMIT_PTX_H
#define DTCC_COMPILER_EMIT_PTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <string>

namespace dtcc {

/// The generated GPU kernels of a module (exec-generate-gpu-kernels) as LLVM IR. Null after a message.
std::unique_ptr<llvm::Module> translateGpuKernels(mlir::ModuleOp module, llvm::LLVMContext &context);

/// The kernels as text of assembly. Fails with a message if a kernel needs a function that only a library has.
mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp module, llvm::TargetMachine &target);

} // namespace dtcc

#endif // DTCC_COMPILER_EMIT_PTX_H
