//===- Import.h - ONNX files to the graph dialect
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One topological pass that folds and infers: every ONNX value is either known now
// (shape arithmetic, positions, small constants) or a value of static type. What
// the file does not say about training (docs/onnx-import.md) is mended with a
// note where it can be inferred, and refused where not.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_IMPORT_H
#define DTCC_FRONTENDS_ONNX_IMPORT_H

#include "frontends/onnx/file/ImportOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace dtcc::onnx {

/// Imports the model at `path`. Problems are diagnostics of `context`: one error, located at the file or node, or one
/// error that lists all unsupported nodes; notes on mends are remarks. The module's resources hold mappings of the
/// external data, so weights are never copied; they end with the context.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(mlir::MLIRContext *context, llvm::StringRef path,
                                                              const ImportOptions &options);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_IMPORT_H
