//===- StepValues.h - Which values of a step wait for its backward pass
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Saved activations of a block, and ops that it recomputes, under each mode of recomputation.
// They come from the graph and from the compiler's own analysis, not from a formula for one kind
// of model, and do not depend on the placement.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_STEP_STEPVALUES_H
#define DTCC_PLANNER_STEP_STEPVALUES_H

#include "planner/plan/Plan.h"
#include "planner/step/StepBlocks.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <array>

namespace dtcc::spmd {

constexpr size_t kRecomputeModes = 3;

class StepValues {
public:
  explicit StepValues(const StepBlocks &blocks);

  using Values = llvm::DenseSet<mlir::Value>;
  /// Forward values that a block computes again under a mode, as each block alike does: of full recomputation it keeps
  /// what leaves it.
  const Values &again(plan::Recompute mode) const { return worked[size_t(mode)]; }
  /// Activations that are not kept under a mode, by the compiler's own decision over the whole step.
  const Values &gone(plan::Recompute mode) const { return recomputed[size_t(mode)]; }
  /// A saved activation of a representative block. `share` is the fraction of the repeated blocks that keep it for the
  /// backward pass (full recomputation keeps it in one of several layers), and `value` is one that is kept.
  struct SavedActivation {
    mlir::Value value;
    double share = 0;
    /// A value of the repeated blocks that is recomputed, if there is one.
    mlir::Value again;
  };
  const llvm::DenseMap<mlir::Value, SavedActivation> &saved(plan::Recompute mode) const {
    return waiting[size_t(mode)];
  }
  /// Forward values that no input reaches: made once a step, and kept.
  const Values &constants() const { return once; }
  /// Logits and their gradients: worked on in chunks where forward and backward pass are one phase.
  const Values &logits() const { return classes; }
  /// Values that share the memory of another, or have memory of a bucket: what is added up to a gradient is added up
  /// there, and copies of parameters in the type that their readers compute in are stored beside them.
  bool isFree(mlir::Value value) const { return free.contains(value); }
  /// Whether an op casts a parameter to the type that its readers compute in: updates store the result, and no
  /// micro-batch computes it.
  bool isStored(mlir::Operation *op) const { return storedCasts.contains(op); }
  /// Bytes of an element of the copy of a parameter that readers in a narrower type see; 0 if they read it itself.
  int64_t copyBytes(llvm::StringRef state) const { return copies.lookup(state); }
  /// Whether a value waits for the backward pass under a mode.
  bool waits(mlir::Value value, plan::Recompute mode) const;
  /// The value whose memory it is.
  static mlir::Value rootOf(mlir::Value value);

private:
  void findFree(mlir::func::FuncOp step);
  void findCopies(mlir::func::FuncOp step);
  void findSums(mlir::func::FuncOp step);
  void findModes(const StepBlocks &blocks);

  llvm::StringMap<int64_t> copies;
  std::array<Values, kRecomputeModes> worked, recomputed;
  std::array<llvm::DenseMap<mlir::Value, SavedActivation>, kRecomputeModes> waiting;
  Values once, classes, free;
  llvm::DenseSet<mlir::Operation *> storedCasts;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_STEP_STEPVALUES_H
