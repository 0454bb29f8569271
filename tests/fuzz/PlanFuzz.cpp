//===- PlanFuzz.cpp - Any bytes as a plan -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/plan/Plan.h"
#include "tests/fuzz/Target.h"
#include <cstdlib>

using namespace dtcc;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::Expected<plan::Plan> plan = plan::parsePlan(fuzz::textOf(data, size), "plan.json");
  if (!plan) {
    llvm::consumeError(plan.takeError());
    return 0;
  }
  plan->whyNoProgram();
  if (plan->pipeline)
    plan::scheduleChart(llvm::cantFail(plan->schedule()));
  // The written plan is read back as an equal plan.
  llvm::Expected<plan::Plan> again = plan::parsePlan(plan->toJson(), "again.json");
  if (!again || !(*again == *plan))
    std::abort();
  return 0;
}
