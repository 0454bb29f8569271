//===- LoadModel.h - Read the model of the command line
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_TOOLS_MODEL_LOADMODEL_H
#define DTCC_TOOLS_MODEL_LOADMODEL_H

#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace dtcc {

/// The module of `options.input`: an imported .onnx file, or .mlir text at any level.
/// Null after one message.
mlir::OwningOpRef<mlir::ModuleOp> loadModel(mlir::MLIRContext &context, Options &options);

} // namespace dtcc

#endif // DTCC_TOOLS_MODEL_LOADMODEL_H
