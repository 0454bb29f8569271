//===- OptimizerOption.h - --optimizer and --group -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_TRAINING_OPTIMIZEROPTION_H
#define DTCC_COMPILER_TRAINING_OPTIMIZEROPTION_H

#include "compiler/options/Options.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc {

/// The optimizer of KIND:key=value,... Failure after one message that names the key and its value.
mlir::FailureOr<mlir::Attribute> parseOptimizer(mlir::MLIRContext *context, llvm::StringRef text);

/// Writes the rates and decays of --group on the parameters that train: the first group that names a parameter has it.
/// The module has its optimizer. Failure after one message.
mlir::LogicalResult applyGroups(mlir::ModuleOp module, const Options &options);

/// One note that names the embeddings and weights of the classifier whose updates the optimizer orthogonalizes, if
/// there are any. `isDecided`: the user has said whether it does.
void noteWhatMuonUpdates(mlir::ModuleOp module, llvm::function_ref<bool(graph::StateOp)> isDecided);

} // namespace dtcc

#endif // DTCC_COMPILER_TRAINING_OPTIMIZEROPTION_H
