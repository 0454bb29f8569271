//===- Cost.h - What a training run costs
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_COST_H
#define DTCC_TOOLS_DTCCPLAN_COST_H

#include "mlir/Support/LLVM.h"
#include "tools/dtcc-plan/arguments/Arguments.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

/// Forecasts a step of the model that `arguments` describe under its plan, and what tokens cost at that rate. Wrong
/// values are errors.
llvm::Error printCost(const Arguments &arguments, llvm::raw_ostream &stream);

/// The options of the command with values.
std::vector<llvm::StringRef> costValues();

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_COST_H
