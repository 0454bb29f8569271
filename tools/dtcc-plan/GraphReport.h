//===- GraphReport.h - The report of a search over a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_GRAPHREPORT_H
#define DTCC_TOOLS_DTCCPLAN_GRAPHREPORT_H

#include "compiler/Planning.h"
#include "passes/plan/SearchReport.h"

namespace dtcc {

/// The sizes of a plan's axes; `ep` counts among those of dp, as a shape has it.
plan::PlanShape shapeOf(const plan::Plan &plan);

/// What was found for the step of `module`, with the reasons.
plan::SearchReport reportOf(mlir::ModuleOp module, const SearchResult &result, const Options &options);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_GRAPHREPORT_H
