//===- Explain.h - Why this plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCCPLAN_EXPLAIN_H
#define DTCC_TOOLS_DTCCPLAN_EXPLAIN_H

#include "planner/search/Explanation.h"
#include "tools/dtcc-plan/arguments/Arguments.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

std::vector<llvm::StringRef> explainValues();

/// `dtcc-plan explain [PLAN.json] MODEL|--transformer=..`: the search with its runners-up, the plan
/// of the file among them, and what people ask about plans, answered with the numbers of this model.
llvm::Error printExplanation(const Arguments &arguments, llvm::raw_ostream &stream);

void printExplanation(const plan::Explanation &explanation, llvm::raw_ostream &stream);
void printExplanationJson(const plan::Explanation &explanation, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCCPLAN_EXPLAIN_H
