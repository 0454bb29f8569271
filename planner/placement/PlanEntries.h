//===- PlanEntries.h - What a plan says of an op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PLACEMENT_PLANENTRIES_H
#define DTCC_PLANNER_PLACEMENT_PLANENTRIES_H

#include "mlir/IR/Operation.h"
#include "planner/plan/Plan.h"
#include "llvm/ADT/MapVector.h"

namespace dtcc::spmd {

/// An entry of a forward op that says nothing yet.
plan::OpPlan emptyEntry(mlir::Operation *op);

/// Calls `mark` for the entries of these forward ops, by origin; those that a plan has not are made, in order.
void markEntries(plan::Plan &plan, const llvm::MapVector<int64_t, mlir::Operation *> &ops,
                 llvm::function_ref<void(plan::OpPlan &)> mark);

/// Entries stand in the order of their origins.
void sortEntries(plan::Plan &plan);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_PLACEMENT_PLANENTRIES_H
