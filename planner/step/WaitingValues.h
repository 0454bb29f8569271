//===- WaitingValues.h - In which layouts values wait for the backward pass
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value waits as its later readers want it, if what goes before has brought it there
// already, else as it was made: of a placed step, value by value, for the backward pass,
// and where weight gradients are apart (zero-bubble schedules) for these once more.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_STEP_WAITINGVALUES_H
#define DTCC_PLANNER_STEP_WAITINGVALUES_H

#include "passes/spmd/layout/Projection.h"
#include "planner/step/StepValues.h"
#include <functional>

namespace dtcc::spmd {

class WaitingValues {
public:
  /// `layoutsOf` says how an op that represents others is placed, `layoutOf` how a value of such an op lies.
  WaitingValues(const StepBlocks &blocks, const StepValues &values,
                std::function<const OpLayouts &(mlir::Operation *)> layoutsOf,
                std::function<Layout(mlir::Value)> layoutOf)
      : blocks(blocks), values(values), layoutsOf(std::move(layoutsOf)), layoutOf(std::move(layoutOf)) {}

  /// The passes of a micro-batch, in the order in which they run.
  enum class Work { Forward, InputGradient, WeightGradient };
  /// Recomputed ops belong to the input gradients, unless only weight gradients need them (StageMap.cpp).
  Work workOf(mlir::Operation *op, plan::Recompute mode);

  struct Waiting {
    mlir::Value value;
    Layout layout;
    /// Weight gradients read it.
    bool ofWeights = false;
    /// The first op of the maker's work that reads it, if that is in another layout than the maker's; else null.
    mlir::Operation *reader = nullptr;
  };
  /// Saved forms of a value that `maker` computes, for all later work. Of a parameter only resharded copies count, and
  /// not the stored form.
  llvm::SmallVector<Waiting> find(mlir::Value root, plan::Recompute mode, Work maker);
  /// All that a parameter is brought to for its readers.
  llvm::SmallVector<Waiting> findBrought(mlir::Value parameter);

private:
  mlir::Operation *firstReader(mlir::Value value, const Layout &layout,
                               llvm::function_ref<bool(mlir::Operation *)> isReader) const;

  const StepBlocks &blocks;
  const StepValues &values;
  std::function<const OpLayouts &(mlir::Operation *)> layoutsOf;
  std::function<Layout(mlir::Value)> layoutOf;
  std::array<llvm::DenseMap<mlir::Operation *, Work>, kRecomputeModes> known;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_STEP_WAITINGVALUES_H
