//===- ScheduleFuzz.cpp - Any bytes as the schedule of a pipeline -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Schedule.h"
#include "tests/fuzz/Target.h"
#include "tests/unit/planner/ScheduleCsv.h"
#include <cstdlib>

using namespace dtcc;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::Expected<plan::Schedule> schedule = plan::parseScheduleCsv(fuzz::textOf(data, size), "schedule.csv");
  if (!schedule) {
    llvm::consumeError(schedule.takeError());
    return 0;
  }
  if (llvm::Error error = schedule->check(schedule->stages(), schedule->microbatches())) {
    llvm::consumeError(std::move(error));
    return 0;
  }
  for (size_t rank = 0; rank < schedule->ranks.size(); ++rank)
    schedule->peakInFlight(int64_t(rank));
  plan::scheduleChart(*schedule);
  // The written schedule is read back as an equal schedule.
  llvm::Expected<plan::Schedule> again = plan::parseScheduleCsv(plan::scheduleCsv(*schedule), "again.csv");
  if (!again || !(*again == *schedule))
    std::abort();
  return 0;
}
