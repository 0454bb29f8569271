//===- ShapeText.h - Shapes as people write them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SEARCH_SHAPETEXT_H
#define DTCC_PLANNER_SEARCH_SHAPETEXT_H

#include "planner/search/ShapeSearch.h"
#include <string_view>

namespace dtcc::plan {

/// Reads what PlanShape::str writes: "dp=2,tp=4,pp=8 zero=1 microbatches=16 interleaved:2". What is not said is as
/// in a shape of one rank; stages without a schedule run by 1F1B. Empty, and `error` says why, for other text.
std::optional<PlanShape> parseShape(std::string_view text, std::string &error);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SEARCH_SHAPETEXT_H
