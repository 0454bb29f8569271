//===- Constants.cpp - What machines and software reach of their data sheets
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/cost/Constants.h"

namespace dtcc::cost {

const std::vector<ConstantRow> &constantRows() {
  static const std::vector<ConstantRow> rows = {
#define DTCC_CONSTANT(name, value, start, spread, description) {#name, &Constants::name, start, spread, description},
#include "planner/cost/Constants.def"
  };
  return rows;
}

Constants startConstants() {
  Constants constants;
  for (const ConstantRow &row : constantRows())
    constants.*row.member = row.start;
  return constants;
}

} // namespace dtcc::cost
