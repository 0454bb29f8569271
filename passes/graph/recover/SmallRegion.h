//===- SmallRegion.h - A region evaluated at small sizes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region with products cannot be identified cell by cell: one cell of an expert layer reads
// whole matrices. The factor maps, however, say which dimensions are loops, and a
// loop may be shorter. So the whole region is evaluated, each op by its reference, with two or
// three iterations per loop. Dimensions that an op needs whole keep their size.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_RECOVER_SMALLREGION_H
#define DTCC_PASSES_GRAPH_RECOVER_SMALLREGION_H

#include "dialects/graph/Graph.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace dtcc::graph {

using SmallValues = llvm::DenseMap<mlir::Value, HostTensor>;

class SmallRegion {
public:
  /// The ops from `inputs`, parameters and constants to `root`; nothing if another value takes part,
  /// an input does not, or `limit` ops do not suffice.
  static std::optional<SmallRegion> between(llvm::ArrayRef<mlir::Value> inputs, mlir::Value root, size_t limit);

  /// The parameters read, in the order in which they were found. Reads of one state are one.
  llvm::ArrayRef<mlir::Value> parameters() const { return reads; }
  /// Whether what depends on the inputs is used inside alone, but the root.
  bool isClosed() const;
  /// Dimensions of one class are one loop.
  unsigned classOf(mlir::Value value, int64_t dim);
  /// A tensor of zeros for `value` at small sizes.
  HostTensor small(mlir::Value value);
  /// The root, given values of the inputs and parameters; nothing if an op cannot be evaluated.
  std::optional<HostTensor> evaluate(SmallValues values);

private:
  bool collect(mlir::Value value, size_t depth = 0);
  void joinDims();
  /// Most regions are told by their parameters alone not to be what is looked for, so dimensions are joined when they
  /// are asked for.
  void ensureJoined();
  /// The read that stands for all of its state.
  mlir::Value representative(mlir::Value value) const;

  llvm::SmallVector<mlir::Value> inputs, reads;
  mlir::Value root;
  size_t limit = 0;
  /// Operands come first.
  llvm::SetVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Value, mlir::Value> sameState;
  llvm::DenseMap<mlir::Value, unsigned> firstDim;
  llvm::IntEqClasses classes;
  llvm::SmallVector<int64_t> sizes; /* per class */
  bool joined = false;
};

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_RECOVER_SMALLREGION_H
