//===- SearchMesh.h - Which mesh and which ZeRO stage
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first search: every data x tensor parallel factoring of the ranks and every ZeRO
// stage, each with its best placement, priced by the first cost model.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_DIST_SEARCHMESH_H
#define DTCC_PASSES_DIST_SEARCHMESH_H

#include "passes/dist/PlaceExperts.h"
#include "passes/dist/SequencePlacement.h"
#include "passes/dist/SolvePlacement.h"

namespace dtcc::dist {

/// What is given; what is absent is searched.
struct MeshRequest {
  std::optional<int64_t> dp, tp, zero;
  /// Absent: as little as makes the plan fit.
  std::optional<plan::Recompute> recompute;
  int64_t microbatches = 1;
  /// Ranks that share every sequence: given, not searched.
  int64_t cp = 1;
  SequenceExchange exchange = SequenceExchange::Cheaper;
  /// Absent: zig-zag for rings under a causal mask, where it is possible.
  std::optional<plan::SequenceOrder> order;
  /// Activations between tensor-parallel ops are split by positions over tp.
  bool sequenceParallel = false;
  /// Groups of data-parallel ranks that share state among themselves; with `dp` alone.
  int64_t groups = 1;
  /// Ranks among which the experts of a layer are shared out; not searched.
  int64_t ep = 1;
  ExpertExchange experts = ExpertExchange::Cheaper;
};

/// A plan with its forecast.
struct PricedPlan {
  plan::Plan plan;
  int64_t dp = 1, tp = 1, zero = 0;
  /// Seconds of a step: work and reshards over tp and cp, what data parallelism adds, and
  /// what is computed again.
  double placementSeconds = 0, gradientSeconds = 0, recomputeSeconds = 0;
  /// Bytes of a rank: parameters and gradients with units in flight, slots of the optimizer, activations.
  double parameterBytes = 0, gradientBytes = 0, slotBytes = 0, activationBytes = 0;
  bool fits = true;

  double seconds() const { return placementSeconds + gradientSeconds + recomputeSeconds; }
  double bytes() const { return parameterBytes + gradientBytes + slotBytes + activationBytes; }
};

/// All plans that divide the batch, best first: those that fit before those that do not,
/// then by time, then by memory. Fails with a message if there is none: `dp * cp * tp` is
/// not `machine.ranks`, or the batch does not divide.
mlir::FailureOr<std::vector<PricedPlan>> searchMesh(mlir::ModuleOp module, const MeshRequest &request,
                                                    const cost::Machine &machine);

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_SEARCHMESH_H
