//===- Recompute.h - What the backward pass computes again
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activation checkpointing: some of the forward values that a backward pass reads are kept,
// and the others are recomputed from these. There are two policies:
//
//   selective  no expensive op is recomputed: products and attention keep their results.
//              The results of norms, activations, dropout and movement are kept only as
//              far as a minimum cut of the forward graph requires (the problem that
//              PyTorch's min-cut rematerialization solves). Korthikanti et al. 2022,
//              "Reducing Activation Recomputation in Large Transformer Models", is the
//              special case that gave the mode its name.
//   full       the forward pass is cut into segments at its waists: places with one live
//              activation, such as the residual stream between layers. Only the waists are
//              kept, and each segment is recomputed as a whole (Chen et al. 2016, "Training
//              Deep Nets with Sublinear Memory Cost"). Segments are chosen for the least
//              sum of kept waists and largest segment. The last segment is not recomputed,
//              because its backward pass follows at once.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_RECOMPUTE_H
#define DTCC_PASSES_GRAPH_RECOMPUTE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "planner/plan/Plan.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace dtcc::graph {

/// The decision which activations are recomputed in the backward pass.
struct RecomputeDecision {
  /// Activations that are not kept, each with the number of its segment.
  llvm::MapVector<mlir::Value, int64_t> segments;
};

/// Activations depend on an input and on a state; of others (masks, tables, casts of
/// parameters) there is one for all layers, and they are kept.
llvm::DenseSet<mlir::Value> findActivations(mlir::func::FuncOp step);

/// Decides what a differentiated `step` recomputes. `overrides` says for single forward ops,
/// by origin, whether their results are recomputed (true) or kept (false).
RecomputeDecision decideRecompute(mlir::func::FuncOp step, plan::Recompute mode,
                                  const std::map<int64_t, bool> &overrides = {});

/// Rewrites `step`: backward ops read clones (phase R), which start from barriers on the kept
/// values. The program order of clones is that of their first readers.
void applyRecompute(mlir::func::FuncOp step, const RecomputeDecision &decision);

/// Decides and rewrites by `plan`. Fails, with a message, if the plan names ops that cannot be recomputed.
mlir::LogicalResult recompute(mlir::func::FuncOp step, const plan::Plan &plan);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_RECOMPUTE_H
