//===- PlacementNode.h - The ops and states for which a placement is chosen
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLACEMENT_PLACEMENTNODE_H
#define DTCC_PLANNER_PLACEMENT_PLACEMENTNODE_H

#include "mlir/IR/Operation.h"
#include <vector>

namespace dtcc::spmd {

/// Added to a candidate: sums that are partial over the axes go through the op.
inline constexpr int64_t kFlows = 1 << 20;

/// A forward op with its backward ops, or a state; or an op that partial sums may go through.
struct PlacementNode {
  llvm::SmallVector<mlir::Operation *> ops; // the forward op first; for a state its reads
  /// Candidates: a factor of the forward op (a dimension of the state), or -1 for none.
  llvm::SmallVector<int64_t> candidates{-1};
  /// Sizes of all factors or dimensions.
  llvm::SmallVector<int64_t> sizes;
  std::vector<double> costs;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_PLACEMENT_PLACEMENTNODE_H
