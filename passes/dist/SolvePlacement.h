//===- SolvePlacement.h - Which factors the ranks of a model axis share
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a differentiated step and a mesh to a plan: every forward op (with its
// backward ops) and every state takes one candidate, and neighbours that disagree
// pay for the reshard between them. Reshards are priced by the planner that later
// emits them; the choice is made by passes/plan/Choice.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_DIST_SOLVEPLACEMENT_H
#define DTCC_PASSES_DIST_SOLVEPLACEMENT_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/cost/Machine.h"
#include "passes/plan/Choice.h"
#include "passes/plan/Plan.h"

namespace dtcc::dist {

/// What a solved placement costs a rank in a step.
struct PlacementCost {
  double seconds = 0; // work and reshards
  /// Bytes of one copy of the rank's parameters.
  double parameterBytes = 0;
  /// Bytes of gradients that data parallelism reduces.
  double gradientBytes = 0;
  /// The parts of these that are experts of the axis `ep`, whose ranks hold different ones.
  double expertParameterBytes = 0, expertGradientBytes = 0;
  /// Most bytes of a micro-batch's values that are needed at one time, nothing being computed again.
  double activationBytes = 0;
};

/// Places the ops and states of `@step` on the axes of `plan.mesh` that neither count
/// micro-batches nor split the batch, and writes `plan.ops` and `plan.states`. Dimensions
/// of inputs (batch, sequence) are not candidates, but with `plan.sequenceParallel`: then no op repeats
/// positions that it could share out (Korthikanti et al. 2022, arXiv 2205.05198). The placement is optimal for the
/// modelled cost unless the search was cut short (see plan::solve).
/// `share`: the user asked for these ranks, so the model is to be shared out even where
/// it is so small that doing everything everywhere would be faster: starting a
/// collective is free, and state that every rank holds is dear.
mlir::FailureOr<PlacementCost> solvePlacement(mlir::ModuleOp module, plan::Plan &plan, const cost::Machine &machine,
                                              bool share = false);

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_SOLVEPLACEMENT_H
