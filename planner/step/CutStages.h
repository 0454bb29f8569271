//===- CutStages.h - Where a pipeline may cut a step into stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PLANNER_STEP_CUTSTAGES_H
#define DTCC_PLANNER_STEP_CUTSTAGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace dtcc::spmd {

/// Forward ops between two places where a step may be cut.
struct StepPiece {
  /// Origin of the block's first op, at which a stage may begin.
  int64_t origin = 0;
  /// Activations that are made before it and read from there on.
  llvm::SmallVector<mlir::Value> entering;
};

/// A differentiated step, cut at all places in the order of its forward ops where few bytes cross; each piece
/// reads a trainable parameter.
std::vector<StepPiece> findPieces(mlir::func::FuncOp step);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_STEP_CUTSTAGES_H
