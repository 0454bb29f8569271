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
// emits them; the choice is made by planner/problem/Choice.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLACEMENT_SOLVEPLACEMENT_H
#define DTCC_PLANNER_PLACEMENT_SOLVEPLACEMENT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/spmd/layout/Padding.h"
#include "planner/cluster/Machine.h"
#include "planner/plan/Plan.h"
#include "planner/problem/Choice.h"
#include "planner/step/StepBlocks.h"

namespace dtcc::spmd {

/// Facts that all placements of a step share. The step must not change while they are used.
struct PlacementInput {
  StepBlocks blocks;
  FactorClasses classes;
  InputClasses inputs;
  mlir::SymbolTable states;
  PaddableClasses paddable;
  Pins pins;
  /// Values that no input reaches. They are the same in every micro-batch, and are resharded once per step.
  llvm::DenseSet<mlir::Value> fixed;
  /// Matrices that train, and values made of them alone, as casts of weights are. All are among `fixed`.
  llvm::DenseSet<mlir::Value> weights;
  /// Mixtures of experts, in the order of the step.
  llvm::SmallVector<mlir::Operation *> expertLayers;
  /// The classes of their experts.
  llvm::DenseSet<unsigned> experts;
  explicit PlacementInput(mlir::func::FuncOp step, size_t mostBlocks = kMostBlocks, const Pins &pins = {},
                          const GivenPlacement *given = nullptr);
};

/// The choice that solvePlacement makes, as plain values: a node for each state, and for each forward op with its
/// backward ops, of those ops that stand for all others (StepBlocks).
struct PlacementProblem {
  plan::ChoiceProblem choice;
  /// For each node its first op (for a state, a read) and its candidates: factors of the op, dimensions of the state,
  /// or -1 for none.
  std::vector<mlir::Operation *> ops;
  std::vector<llvm::SmallVector<int64_t>> candidates;
};
mlir::FailureOr<PlacementProblem> placementProblem(const PlacementInput &input, plan::Plan &plan,
                                                   const cost::Machine &machine, bool share = false);

/// Places the ops and states of `@step` on the axes of `plan.mesh` that neither count
/// micro-batches nor split the batch, and writes `plan.ops` and `plan.states`. Blocks that are
/// alike are placed alike. Dimensions
/// of inputs (batch, sequence) are not candidates, but with `plan.sequenceParallel`: then no op repeats
/// positions that it could share out (Korthikanti et al. 2022, arXiv 2205.05198). The placement is optimal for the
/// modelled cost unless the search was cut short. Fails with a message if no placement keeps to the pins.
/// `share`: the user asked for these ranks, so the model is to be shared out even where
/// it is so small that doing everything everywhere would be faster: starting a
/// collective is free, and state that every rank holds is dear.
mlir::LogicalResult solvePlacement(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine,
                                   bool share = false);
mlir::LogicalResult solvePlacement(mlir::ModuleOp module, plan::Plan &plan, const cost::Machine &machine,
                                   bool share = false);

/// Solves a placement in two steps. The first places representative blocks; the second places repeated blocks like
/// them, which a search does for few of its plans. True if the placement is proven best, false if the solver was cut
/// short.
mlir::FailureOr<bool> solveFirstPlacement(const PlacementInput &input, plan::Plan &plan, const cost::Machine &machine,
                                          bool share = false);
void placeAlike(const PlacementInput &input, plan::Plan &plan);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_PLACEMENT_SOLVEPLACEMENT_H
