//===- Diagnostics.h - Messages of the compiler as lines for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_TOOLS_MODEL_DIAGNOSTICS_H
#define DTCC_TOOLS_MODEL_DIAGNOSTICS_H

#include "mlir/IR/MLIRContext.h"
#include <set>
#include <string>

namespace dtcc {

/// From now on errors, warnings and notes of `context` are printed on stderr, one line
/// each, located as other compilers do: "model.mlir:8:9: error: ..." for text, and
/// "model.onnx: error: NODE: ..." for a node or initializer of an ONNX file.
void printDiagnostics(mlir::MLIRContext &context);

/// Prints as above, but leaves out warnings and notes that are in `told`, and adds the others to it: one model may be
/// read in several contexts. `told` outlives the context.
void printDiagnostics(mlir::MLIRContext &context, std::set<std::string> &told);

} // namespace dtcc

#endif // DTCC_TOOLS_MODEL_DIAGNOSTICS_H
