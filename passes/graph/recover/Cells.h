//===- Cells.h - Values of a graph at chosen points
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Demand-driven evaluation: a cell of a value asks for the cells it needs, down to
// leaves whose cells the caller gives. Regions and masks are known by their values, at
// real sizes, and no tensor is ever built.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_RECOVER_CELLS_H
#define DTCC_PASSES_GRAPH_RECOVER_CELLS_H

#include "dialects/graph/Graph.h"
#include "llvm/ADT/DenseMap.h"

namespace dtcc::graph {

class Cells {
public:
  /// Gives the cells of leaves, and nothing for values to be computed.
  using Leaf = std::function<std::optional<double>(mlir::Value, llvm::ArrayRef<int64_t>)>;

  explicit Cells(Leaf leaf) : leaf(std::move(leaf)) {}

  /// The cell of a value, or nothing if an op on the way cannot tell.
  std::optional<double> at(mlir::Value value, llvm::ArrayRef<int64_t> index);

  /// Forgets what was computed: after the leaves have changed.
  void clear() { known.clear(); }

private:
  Leaf leaf;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, double> known;
  llvm::DenseMap<mlir::Value, std::optional<double>> splats;
};

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_RECOVER_CELLS_H
