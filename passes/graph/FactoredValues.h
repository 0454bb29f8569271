//===- FactoredValues.h - Values in finest dimensions, while they are rewritten
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface between the factoring pass and the rewrite of one op: the rewrite asks for the factored
// form of its operands, with some dimensions merged, and gives back the factored results.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_FACTOREDVALUES_H
#define DTCC_PASSES_GRAPH_FACTOREDVALUES_H

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/graph/DimensionClasses.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::graph {

/// Per dimension of a value, its classes; empty for a dimension of one cell.
using ClassLists = llvm::SmallVector<llvm::SmallVector<DimensionClasses::Id, 1>>;

/// Slices that cut one dimension into equal parts: each is a part of one unstack.
struct SplitGroup {
  mlir::Value x;
  int64_t dim;
  llvm::SmallVector<mlir::Value> parts;
  /// The new class that counts the parts: the outer one, or the inner one of parts whose cells lie in turns.
  DimensionClasses::Id count;
  bool inTurns;
};

/// Result of the analysis of a module.
struct Factoring {
  DimensionClasses classes;
  llvm::DenseMap<mlir::Value, ClassLists> values;
  llvm::StringMap<ClassLists> states;
  std::vector<SplitGroup> splits;
  /// A part of a split, to its group and number.
  llvm::DenseMap<mlir::Value, std::pair<size_t, size_t>> partOf;
  /// Joins of equal parts, to the new outer class.
  llvm::DenseMap<mlir::Operation *, DimensionClasses::Id> stacks;
};

/// Solves the equations of all ops of `module`.
Factoring analyzeDimensions(mlir::ModuleOp module);

class FactoredValues {
public:
  FactoredValues(Factoring &factoring, mlir::OpBuilder builder) : factoring(factoring), builder(builder) {}

  mlir::OpBuilder &getBuilder() { return builder; }
  Factoring &getFactoring() { return factoring; }

  /// Sizes of the leaves of dimension `dim` of `old`.
  llvm::SmallVector<int64_t> sizes(mlir::Value old, int64_t dim);
  /// The type of `old` with every dimension factored, but those of `whole` (sorted), which stay as they were, size-1
  /// dimensions included.
  mlir::RankedTensorType type(mlir::Value old, llvm::ArrayRef<int64_t> whole = {});
  /// Positions of the dimensions `dims` of `old` in that type, in order.
  llvm::SmallVector<int64_t> positions(mlir::Value old, llvm::ArrayRef<int64_t> dims,
                                       llvm::ArrayRef<int64_t> whole = {});

  /// The new value of an operand; a reshape merges what must be whole.
  mlir::Value get(mlir::Value old, llvm::ArrayRef<int64_t> whole = {});
  /// Sets the new value of a result, given with `whole` dimensions unfactored.
  void set(mlir::Value old, mlir::Value made, llvm::ArrayRef<int64_t> whole = {});
  bool contains(mlir::Value old) const { return made.contains(old); }
  /// Reshapes unless the type is already there.
  mlir::Value reshape(mlir::Value value, mlir::RankedTensorType type);

private:
  Factoring &factoring;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, mlir::Value> made;
};

/// Views the cells of an attribute under another shape; resources are not copied.
mlir::ElementsAttr reshapeElements(mlir::ElementsAttr attr, llvm::ArrayRef<int64_t> shape);

/// Rewrites one op at the builder's place, setting the new values of its results.
void rewriteFactored(mlir::Operation *op, FactoredValues &values);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_FACTOREDVALUES_H
