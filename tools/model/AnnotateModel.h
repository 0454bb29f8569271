//===- AnnotateModel.h - The model with the placement of its plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --emit=onnx. Nodes of the model are found again in the placed step by the names that the
// importer leaves in locations; dimensions by their sizes, since passes cut them finer.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_MODEL_ANNOTATEMODEL_H
#define DTCC_TOOLS_MODEL_ANNOTATEMODEL_H

#include "compiler/console/OutputFiles.h"
#include "compiler/options/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc {

/// Shapes of inputs and of what nodes hand on, as the file has them: taken from an imported module before passes change
/// it.
struct ModelShapes {
  explicit ModelShapes(mlir::ModuleOp imported);
  llvm::StringMap<llvm::SmallVector<int64_t>> inputs, results;
};

/// Writes the model of `options.input` with the placement of `placed`, its step on !spmd.tensor, as annotations of its
/// nodes (frontends/onnx/Annotate.h). Left out are values that are partial sums, and results whose dimensions cannot be
/// told apart after the passes. Failure after one message.
mlir::LogicalResult writeAnnotatedModel(mlir::ModuleOp placed, const ModelShapes &shapes, const Options &options,
                                        OutputFiles &files);

} // namespace dtcc

#endif // DTCC_TOOLS_MODEL_ANNOTATEMODEL_H
