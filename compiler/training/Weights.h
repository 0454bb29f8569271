//===- Weights.h - Initial values of a program -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_TRAINING_WEIGHTS_H
#define DTCC_COMPILER_TRAINING_WEIGHTS_H

#include "mlir/IR/BuiltinOps.h"

namespace dtcc {

/// Whether a state of `module` starts from a value that the model holds.
bool hasWeights(mlir::ModuleOp module);

/// Writes these values into a safetensors file at `path`, each under its saved name and shape,
/// streaming from the attributes: a large model is never copied. Fails with a message.
mlir::LogicalResult writeWeights(mlir::ModuleOp module, llvm::StringRef path);

/// Appends the file of weights at `weights` to the program at `program` (runtime/abi/OwnWeights.h). Fails with a
/// message.
mlir::LogicalResult appendWeights(llvm::StringRef weights, llvm::StringRef program);

} // namespace dtcc

#endif // DTCC_COMPILER_TRAINING_WEIGHTS_H
