//===- ReportPage.h - A search or an explanation as a page
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_PAGES_REPORTPAGE_H
#define DTCC_TOOLS_DTCC_PLAN_PAGES_REPORTPAGE_H

#include "planner/search/Explanation.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

/// One self-contained page: figures and pictures of the best plan, `timeline` of a step of it, the runners-up with
/// reasons; of an explanation also its tables and answers.
void writeReportPage(const plan::SearchReport &report, const cost::StepTimeline &timeline,
                     const plan::Explanation *explanation, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_PAGES_REPORTPAGE_H
