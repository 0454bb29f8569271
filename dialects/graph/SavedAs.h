//===- SavedAs.h - What a model's tensors are outside of its step -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes by which a frontend says what a graph.state does not: they matter where tensors are
// loaded and saved, and to no pass. The compiler writes them into the image's table of tensors.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_SAVEDAS_H
#define DTCC_DIALECTS_GRAPH_SAVEDAS_H

#include "llvm/ADT/StringRef.h"

namespace dtcc::graph {

/// On a state: the element type of the model's file, where that is not the state's.
inline constexpr llvm::StringLiteral kStoredTypeAttr = "graph.stored_type";
/// On a state: an array of other names of the same tensor (tied parameters).
inline constexpr llvm::StringLiteral kAliasesAttr = "graph.aliases";
/// On the module: the element type that most parameters of the model's file have, where that is not f32.
inline constexpr llvm::StringLiteral kParameterTypeAttr = "graph.parameter_type";
/// On the module: an array of dictionaries {name, type, value} of tensors that the user's module has and the step does
/// not use; `value` may be absent.
inline constexpr llvm::StringLiteral kUnusedAttr = "graph.unused";
/// On the module: its states, their aliases and the unused tensors are all that the user's module has.
inline constexpr llvm::StringLiteral kCompleteAttr = "graph.complete";
/// On the module: what the export says of adapters, as JSON (runtime/checkpoint/AdapterForms.h).
inline constexpr llvm::StringLiteral kAdaptersAttr = "graph.adapters";
/// On the module: the ONNX file without the initializers that became states, as bytes, and an array of dictionaries
/// {name, tensor, transposed} of these; or why there is none (runtime/checkpoint/save/SaveOnnx.h).
inline constexpr llvm::StringLiteral kOnnxModelAttr = "graph.onnx_model", kOnnxTensorsAttr = "graph.onnx_tensors",
                                     kOnnxProblemAttr = "graph.onnx_problem";

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_SAVEDAS_H
