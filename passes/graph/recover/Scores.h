//===- Scores.h - What stands between a product and its softmax
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The softmax's input is, cell by cell, a function of the product's cell: constant where
// it is masked, else scale * x, perhaps capped. The function is probed at chosen cells of
// the real sizes; no order of scale, cap and mask matters, and no mask is ever built.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_RECOVER_SCORES_H
#define DTCC_PASSES_GRAPH_RECOVER_SCORES_H

#include "dialects/graph/Graph.h"
#include <map>
#include <vector>

namespace dtcc::graph {

/// A boolean value of the mask that depends on inputs, taken as it is: `a` alone is true
/// or false a key ([b, s]); `a` and `b` are integers a query and a key, equal or not.
struct MaskAtom {
  mlir::Value value;
  mlir::Value a, b;
  /// Per dimension of `a` and `b` that of the scores.
  llvm::SmallVector<int64_t> aDims, bDims;
  /// Whether keys are visible where it is true.
  bool visible = true;

  bool isSegment() const { return static_cast<bool>(b); }
};

struct Scores {
  ContractOp core;
  double scale = 1;
  double softcap = 0;
  /// Value of masked cells; 0 if none is masked.
  double fill = 0;
  bool causal = false;
  int64_t offset = 0;
  int64_t windowLeft = 0;
  llvm::SmallVector<MaskAtom, 2> atoms;
};

/// Meanings of scores by the expression that computes them. A meaning is found by evaluating thousands of cells, so a
/// hundred equal layers are read once.
using ScoreMemory = std::map<std::vector<const void *>, std::optional<Scores>>;

/// Reads scores [b, h, (g,) t, s], or nothing if they are not known to be of this form.
std::optional<Scores> readScores(mlir::Value scores, ScoreMemory &memory);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_RECOVER_SCORES_H
