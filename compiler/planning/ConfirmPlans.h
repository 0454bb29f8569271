//===- ConfirmPlans.h - The best plan that really compiles and fits
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search prices memory by an estimate, and knows most rules of lowering but not all. Its best plan is therefore
// lowered before anybody sees it; what the compiler refuses, or what needs more memory than the estimate said, gives
// way to the next.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_PLANNING_CONFIRMPLANS_H
#define DTCC_COMPILER_PLANNING_CONFIRMPLANS_H

#include "compiler/planning/PlanSearch.h"

namespace dtcc {

/// Lowers the plans of a search, best first, until one fits: it becomes the first, its report says the memory of its
/// program beside the estimate, and which plans were passed over and why; `result.lowered` is its program. A plan that
/// needs too much is solved once more with as much less memory as the estimate was wrong by. Where memory is no limit,
/// or --mesh gives all ranks, the first that lowers is taken, or the one that needs least. Failure after one message,
/// if none of the plans that are tried (two dozen) will do; `silent`: without it.
mlir::LogicalResult confirmPlans(mlir::ModuleOp module, const Options &options, SearchResult &result,
                                 bool silent = false);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_CONFIRMPLANS_H
