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
#include <functional>
#include <vector>

namespace dtcc::graph {

class Cells {
public:
  /// Gives the cells of leaves, and nothing for values to be computed.
  using Leaf = std::function<std::optional<double>(mlir::Value, llvm::ArrayRef<int64_t>)>;

  explicit Cells(Leaf leaf) : leaf(std::move(leaf)) {}

  /// The cell of a value, or nothing if an op on the way cannot tell.
  std::optional<double> at(mlir::Value value, llvm::ArrayRef<int64_t> index);

  /// The cells along the last dimension, in whose place `index` has any number; nothing if one of them is not known.
  /// Ops of cells compute the row as a whole, which is a hundred times as fast as one cell after the other.
  std::optional<std::vector<double>> row(mlir::Value value, llvm::ArrayRef<int64_t> index);

  /// Forgets what was computed: after the leaves have changed.
  void clear() { known.clear(); }

private:
  /// The `count` cells of a value where `dim` counts up from 0 and the other dimensions stand at `index`. Without a
  /// dimension all of them are the same one.
  std::optional<std::vector<double>> line(mlir::Value value, llvm::ArrayRef<int64_t> index, std::optional<int64_t> dim,
                                          int64_t count);
  std::optional<std::vector<double>> lineOfCells(mlir::Operation *op, llvm::ArrayRef<int64_t> index, int64_t dim,
                                                 int64_t count);
  /// The cell of an op that reduces one dimension.
  std::optional<double> ofLine(ReduceOp reduce, llvm::ArrayRef<int64_t> index);

  Leaf leaf;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, double> known;
  llvm::DenseMap<mlir::Value, std::optional<double>> splats;
};

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_RECOVER_CELLS_H
