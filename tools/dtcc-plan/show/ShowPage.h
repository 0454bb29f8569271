//===- ShowPage.h - A plan or a program as a page
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_SHOW_SHOWPAGE_H
#define DTCC_TOOLS_DTCC_PLAN_SHOW_SHOWPAGE_H

#include "planner/schedule/Timeline.h"
#include "tools/dtcc-plan/show/Show.h"

namespace dtcc {

/// The schedule of a plan's pipeline, or one micro-batch after another: F, I and W take a millisecond, B two.
cost::StepTimeline timelineOf(const plan::Plan &plan);

/// One self-contained page: the mesh, the schedule, of a program its memory and collectives, then `text`, what show
/// prints.
void writeShowPage(const PlanOrProgram &file, const cost::StepTimeline &timeline, llvm::StringRef text,
                   llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_SHOW_SHOWPAGE_H
