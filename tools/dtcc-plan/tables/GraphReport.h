//===- GraphReport.h - The report of a search over a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_TABLES_GRAPHREPORT_H
#define DTCC_TOOLS_DTCC_PLAN_TABLES_GRAPHREPORT_H

#include "planner/plan/Plan.h"
#include "planner/search/SearchReport.h"

namespace dtcc {

/// The sizes of a plan's axes; `ep` counts among those of dp, as a shape has it.
plan::PlanShape shapeOf(const plan::Plan &plan);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_TABLES_GRAPHREPORT_H
