//===- TransformerReport.h - The report of a search over a transformer
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills the value of SearchReport.h from what TransformerPricer solved. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_TRANSFORMER_TRANSFORMERREPORT_H
#define DTCC_PLANNER_TRANSFORMER_TRANSFORMERREPORT_H

#include "planner/search/SearchReport.h"
#include "planner/transformer/TransformerPricer.h"

namespace dtcc::plan {

/// Times, memory and stages of a solved shape; whether it fits the device of `problem`.
PlanReport describe(const TransformerProblem &problem, TransformerPricer &pricer, const ShapePlan &plan);

/// The first `top` plans with their reasons, the bound and the counts. What the problem does
/// not know is left to the caller: names of the model and the cluster, what was given. `record`: with the timeline of
/// the first.
SearchReport reportOf(const TransformerProblem &problem, TransformerPricer &pricer, const ShapeResult &result,
                      size_t top, bool record = false);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_TRANSFORMER_TRANSFORMERREPORT_H
