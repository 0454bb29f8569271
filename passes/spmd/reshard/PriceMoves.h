//===- PriceMoves.h - Seconds of the moves of a reshard
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a move over axes of a mesh to a transfer among ranks of a cluster. Ranks of a mesh are
// numbered row-major, so that the last axis joins neighbours.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_RESHARD_PRICEMOVES_H
#define DTCC_PASSES_SPMD_RESHARD_PRICEMOVES_H

#include "passes/spmd/reshard/ReshardPlanner.h"
#include "planner/cluster/Machine.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace dtcc::spmd {

/// The ranks that `axes` of the mesh join; sizes of 1 for none.
cost::Group groupOf(const Axes &axes, const Mesh &mesh);

/// The seconds of moves: those of what travels, and of copies to pieces that are ranges of memory and from them
/// (passes/exec/bufferize/CollectiveRules.cpp).
MoveSeconds secondsOfMoves(const Mesh &mesh, const cost::Machine &machine);

/// Whether a gradient with layout `from` is resharded to the layout `to` of its state only at the end of the step.
/// Partial sums over axes that split the state are scattered in every micro-batch.
bool isLeftToUpdate(const Layout &from, const Layout &to);

/// Seconds of reshards by the moves that a program makes, which ApplyPlan and LowerToProgram choose by bytes.
class MovePricer {
public:
  MovePricer(const Mesh &mesh, const cost::Machine &machine) : planner(mesh), seconds(secondsOfMoves(mesh, machine)) {}

  struct Price {
    /// Bytes moved, by which paths are chosen (bytesMoved).
    double bytes = 0;
    double seconds = 0;
    /// Null: nothing to do.
    const ReshardPlan *way = nullptr;
  };
  /// Price of a reshard between two layouts of a value whose whole local shape is `shape`. Nothing if there is no path.
  std::optional<Price> priceOf(const Layout &from, const Layout &to, llvm::ArrayRef<int64_t> shape,
                               int64_t elementBytes);

private:
  std::optional<Price> find(const ReshardKey &key);

  ReshardPlanner planner;
  MoveSeconds seconds;
  ReshardMap<std::optional<Price>> known;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_RESHARD_PRICEMOVES_H
