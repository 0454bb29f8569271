//===- PartialFlow.h - Which partial sums flow through an op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linear op may take partial sums and give partial sums, which are then reduced later and
// perhaps once instead of several times: the gradients of what several products read. Decided
// alike where a plan is applied and where it is priced.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_PARTIALFLOW_H
#define DTCC_PASSES_SPMD_LAYOUT_PARTIALFLOW_H

#include "passes/spmd/layout/Projection.h"

namespace dtcc::spmd {

struct PartialFlow {
  /// The layout that an op gives to its result.
  llvm::function_ref<Layout(mlir::Value)> layoutOf;
  /// Whether an axis splits samples or positions. Partial sums over such axes are reduced at the end of the step,
  /// together with other partial sums of the same value.
  llvm::function_ref<bool(const std::string &)> ofStep;
  /// Whether the plan lists the other sums that pass through the op, so that no more do.
  bool isGiven = false;

  /// Lets partial sums flow through `op` where they may and should: those of the step, and others where each has no
  /// other reader and what is handed on is not larger.
  void choose(mlir::Operation *op, const FactorMap &map, Placement &placement) const;

  /// The first set of operands of a linear op that `choose` lets through as sums over model axes if all of them are, as
  /// `mayBe` says they may; nothing if there is none.
  static std::optional<int64_t> setThatMayFlow(mlir::Operation *op, const FactorMap &map,
                                               llvm::function_ref<bool(mlir::Value)> mayBe);
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_PARTIALFLOW_H
