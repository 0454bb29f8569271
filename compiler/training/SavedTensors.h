//===- SavedTensors.h - The image's table of the model's tensors -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the attributes of dialects/graph/SavedAs.h, and makes of them the text that
// runtime/checkpoint/TensorTable.h describes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_TRAINING_SAVEDTENSORS_H
#define DTCC_COMPILER_TRAINING_SAVEDTENSORS_H

#include "compiler/options/Options.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtcc {

/// A tensor that the user's module has and the step does not use. Null `value`: the model's file has none, or --weights
/// does.
struct UnusedTensor {
  llvm::StringRef name;
  mlir::ShapedType type;
  mlir::ElementsAttr value;
};
llvm::SmallVector<UnusedTensor> unusedTensors(mlir::ModuleOp module);
void setUnusedTensors(mlir::ModuleOp module, llvm::ArrayRef<UnusedTensor> tensors);

/// The further names of a state whose tensor several modules share.
llvm::SmallVector<llvm::StringRef> aliasesOf(graph::StateOp state);

/// safetensors' name of an element type that the image's format has.
llvm::StringRef safetensorsType(mlir::Type element);

/// Whether parameters that --weights lacks may start as --init says: it was given beside --weights.
bool mayMissWeights(const Options &options);

/// The table as JSON; empty if the states themselves say everything.
std::string tensorsText(mlir::ModuleOp module, const Options &options);

} // namespace dtcc

#endif // DTCC_COMPILER_TRAINING_SAVEDTENSORS_H
