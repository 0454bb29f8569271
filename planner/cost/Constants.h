//===- Constants.h - What machines and software reach of their data sheets
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants.def as a value, so that a fit can move them. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_CONSTANTS_H
#define DTCC_PLANNER_COST_CONSTANTS_H

#include <vector>

namespace dtcc::cost {

/// The constants of the cost model. Each has the value of Constants.def until another one is assigned.
struct Constants {
#define DTCC_CONSTANT(name, value, start, spread, description) double name = value;
#include "planner/cost/Constants.def"
};

/// A row of Constants.def.
struct ConstantRow {
  const char *name;
  double Constants::*member;
  double start;
  double spread;
  const char *description;
};
const std::vector<ConstantRow> &constantRows();

/// All at their starts: what is known without a measured run.
Constants startConstants();

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_CONSTANTS_H
