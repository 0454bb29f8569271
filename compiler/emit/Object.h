//===- Object.h - Kernels and image as an object file -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_EMIT_OBJECT_H
#define DTCC_COMPILER_EMIT_OBJECT_H

#include "compiler/emit/Image.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace dtcc {

/// The machine that kernels are generated for: `cpu` is "native" (or empty) or a name of LLVM's.
/// Fails with a message (without location) if there is no such processor.
mlir::FailureOr<std::unique_ptr<llvm::TargetMachine>> createTarget(llvm::StringRef cpu);

/// Lowers copies of the kernels of `module` (its llvm.func and llvm.mlir.global ops) to LLVM IR, by the passes that
/// `lower` adds. Null after a message.
std::unique_ptr<llvm::Module> translateKernels(mlir::ModuleOp module, llvm::LLVMContext &context,
                                               llvm::function_ref<void(mlir::OpPassManager &)> lower);

/// Adds the image as a world of `ranks` ranks (dtcc_world), and a `main` that hands all worlds of the program to the
/// runtime. Objects of several worlds can be linked together: nothing else of the module can be seen outside.
void addWorld(llvm::Module &module, const Image &image, int64_t ranks);

/// Optimizes for the target and writes an object file. Fails with a message.
mlir::LogicalResult writeObject(llvm::Module &module, llvm::TargetMachine &target, llvm::StringRef path);

} // namespace dtcc

#endif // DTCC_COMPILER_EMIT_OBJECT_H
