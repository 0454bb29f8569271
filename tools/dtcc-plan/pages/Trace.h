//===- Trace.h - A forecast step for Perfetto
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_PAGES_TRACE_H
#define DTCC_TOOLS_DTCC_PLAN_PAGES_TRACE_H

#include "planner/schedule/Timeline.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace dtcc {

/// The trace event format that Perfetto opens: a process for each rank of the pipeline, a thread for each of its
/// streams. `name`: of the plan.
void writeTrace(const cost::StepTimeline &timeline, llvm::StringRef name, llvm::raw_ostream &stream);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_PAGES_TRACE_H
