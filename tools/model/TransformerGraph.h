//===- TransformerGraph.h - A transformer of given sizes as a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loss of a decoder without weights, as the importer makes it of an ONNX file of such a model: the same ops on the
// same factored dimensions. A search by sizes thus goes the way that a file goes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_MODEL_TRANSFORMERGRAPH_H
#define DTCC_TOOLS_MODEL_TRANSFORMERGRAPH_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "planner/transformer/Transformer.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace dtcc {

/// Builds `func @loss` on `batch` sequences of tokens and labels, and the parameters, which start at random. Gated
/// models are built as LLaMA and Mixtral are (rotary positions, RMS norms, no biases), others as GPT-2. `name` is the
/// location. An error names the size that no graph is built for.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildTransformer(mlir::MLIRContext &context, const cost::Transformer &sizes, int64_t batch, llvm::StringRef name);

} // namespace dtcc

#endif // DTCC_TOOLS_MODEL_TRANSFORMERGRAPH_H
