//===- WholeOps.h - Ops that no plan can split over a mesh
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mesh that the user gives is taken with what it can split. An op all of whose dimensions would need padding that
// some op cannot have is computed whole by every rank. That costs time and memory, so the user is told.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLACEMENT_WHOLEOPS_H
#define DTCC_PLANNER_PLACEMENT_WHOLEOPS_H

#include "mlir/IR/BuiltinOps.h"
#include "planner/plan/Plan.h"

namespace dtcc::spmd {

/// Says in one note which forward ops cannot be split over the tensor-parallel ranks of `plan`, and why the first
/// cannot.
void noteWholeOps(mlir::ModuleOp module, const plan::Plan &plan);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_PLACEMENT_WHOLEOPS_H
