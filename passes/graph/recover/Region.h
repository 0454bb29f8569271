//===- Region.h - A part of a graph that may be one composite
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region is what lies between an input and a root: ops that compute the root from
// the input and from constants alone. It is found by data flow, whatever its ops and
// their order are; what it means is found by evaluating it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_RECOVER_REGION_H
#define DTCC_PASSES_GRAPH_RECOVER_REGION_H

#include "dialects/graph/Graph.h"
#include "llvm/ADT/SetVector.h"
#include <string>

namespace dtcc::graph {

/// Whether values of `ops` that depend on `inputs` are used inside alone, but `root`. Of an
/// unstack, all parts count.
bool isClosed(llvm::ArrayRef<mlir::Value> inputs, mlir::Value root, const llvm::SetVector<mlir::Operation *> &ops);

/// A path inside of a region may have this many times as many ops as the region may have besides.
inline constexpr size_t kDeepest = 4;

class Region {
public:
  /// The ops from `inputs` (and constants) to `root`, or nothing if another value or an
  /// op whose cells cannot be told takes part, or if `limit` ops do not suffice.
  static std::optional<Region> between(llvm::ArrayRef<mlir::Value> inputs, mlir::Value root, size_t limit = 48);

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  /// Whether values inside that depend on the first input are used inside alone, but the
  /// root. Of an unstack, all parts count.
  bool isClosed() const;
  /// The splat constants inside.
  llvm::SmallVector<double> constants() const;
  /// Equal for regions of equal ops, attributes and types on equal inputs: the key under
  /// which a meaning is remembered, so that a hundred equal layers are probed once.
  std::string signature() const;

  llvm::SmallVector<mlir::Value> inputs;
  mlir::Value root;
  /// In an order in which operands come first.
  llvm::SetVector<mlir::Operation *> ops;
};

/// Values reached from `value` upwards through ops whose cells can be told, nearest
/// first, at most `limit`.
llvm::SmallVector<mlir::Value> ancestors(mlir::Value value, size_t limit = 32);
/// Values that depend on `value`, nearest first, at most `limit`.
llvm::SmallVector<mlir::Value> descendants(mlir::Value value, size_t limit = 32);

/// Whether the value depends on constants and counting alone.
bool isStatic(mlir::Value value);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_RECOVER_REGION_H
