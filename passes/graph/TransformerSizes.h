//===- TransformerSizes.h - A graph as a stack of equal layers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner prices transformers by their sizes. This reads the sizes from a step whose
// attention has been recovered, and compares the parameters that follow from them with those
// that the graph has: a model that is something else is refused, not mispriced.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_TRANSFORMERSIZES_H
#define DTCC_PASSES_GRAPH_TRANSFORMERSIZES_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/cost/Transformer.h"

namespace dtcc::graph {

struct TransformerSizes {
  cost::Transformer model;
  /// Examples of a step.
  int64_t batch = 1;
};

/// Layers are attentions; width and words are those of the table of words, the feed-forward part is what is left of
/// a layer's parameters. Fails with a message if attentions differ, if there is no table of words, for experts, and if
/// sizes and parameters do not agree within 3 %.
mlir::FailureOr<TransformerSizes> readTransformer(mlir::ModuleOp module);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_TRANSFORMERSIZES_H
