//===- Region.h - A part of a graph that may be one composite
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region is the set of ops that compute a root from its inputs and from constants alone. Data flow finds the region,
// whatever its ops and their order are; evaluating the region finds its meaning.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_RECOVER_REGION_H
#define DTCC_PASSES_GRAPH_RECOVER_REGION_H

#include "dialects/graph/Graph.h"
#include "llvm/ADT/SetVector.h"
#include <string>

namespace dtcc::graph {

/// Whether all values of `ops` that depend on `inputs`, except for `root`, are used only by `ops`. All parts of an
/// unstack count.
bool isClosed(llvm::ArrayRef<mlir::Value> inputs, mlir::Value root, const llvm::SetVector<mlir::Operation *> &ops);

/// A path inside a region may be this many times as long as the region may have ops.
inline constexpr size_t kDeepest = 4;

class Region {
public:
  /// Collects the ops from `inputs` and constants to `root`. Nothing if another value takes part, or an op without
  /// CellOpInterface, or if `limit` ops do not suffice.
  static std::optional<Region> between(llvm::ArrayRef<mlir::Value> inputs, mlir::Value root, size_t limit = 48);

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  /// Whether all values inside that depend on the first input, except for the root, are used only inside.
  bool isClosed() const;
  /// The splat constants inside.
  llvm::SmallVector<double> constants() const;
  /// A text that is equal for regions of equal ops, attributes and types on equal inputs. Meanings are remembered under
  /// this key, so that a hundred equal layers are evaluated once.
  std::string signature() const;

  llvm::SmallVector<mlir::Value> inputs;
  mlir::Value root;
  /// The ops, operands before their users.
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
