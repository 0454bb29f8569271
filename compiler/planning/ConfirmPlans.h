//===- ConfirmPlans.h - The plan whose program is the best
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search prices time and memory by an estimate, and knows most rules of lowering but not all. Its best plans are
// therefore lowered before anybody sees them. What the compiler refuses, or what needs more memory than the estimate
// said, gives way to the next. Of those that are left, the one whose program is forecast to be the fastest is taken.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_PLANNING_CONFIRMPLANS_H
#define DTCC_COMPILER_PLANNING_CONFIRMPLANS_H

#include "compiler/planning/PlanSearch.h"

namespace dtcc {

/// Lowers the plans of a search by their estimates and meshes (planner/search/CompareNext.h), until one fits and no
/// plan that is left, less the error of its estimate, can be faster than the fastest program so far, or until four were
/// lowered. The plan of the fastest program becomes the first, and the others that were compared follow it; their
/// reports say time and memory of their programs beside the estimates. The report says too which plans were passed over
/// and why; `result.lowered` is the program of the first. The result does not depend on the number of threads.
///
/// A plan that needs too much is solved once more with as much less memory as the estimate was wrong by. Where memory
/// is no limit, or --mesh gives all ranks, plans that do not fit are compared too, or the one that needs least is
/// taken. Failure after one message, if none of the plans that are tried (two dozen) will do; `silent`: without it.
mlir::LogicalResult confirmPlans(mlir::ModuleOp module, const Options &options, SearchResult &result,
                                 bool silent = false);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_CONFIRMPLANS_H
