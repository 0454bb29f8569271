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

#ifndef DTCC_PASSES_DIST_PRICEMOVES_H
#define DTCC_PASSES_DIST_PRICEMOVES_H

#include "passes/cost/Machine.h"
#include "passes/dist/ReshardPlanner.h"

namespace dtcc::dist {

/// The ranks that `axes` of the mesh join; sizes of 1 for none.
cost::Group groupOf(const Axes &axes, const Mesh &mesh);

/// The price of a move for the reshard planner: what travels, and the packing of parts of
/// inner dimensions, which are no ranges of memory.
MoveCost secondsOfMoves(const Mesh &mesh, const cost::Machine &machine);

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_PRICEMOVES_H
