//===- ScheduleCsv.h - Schedules in the file format of PyTorch -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inverse of plan::parseScheduleCsv, by which tests check that function. The product only reads such files.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_PLANNER_SCHEDULECSV_H
#define DTCC_TESTS_UNIT_PLANNER_SCHEDULECSV_H

#include "planner/schedule/Schedule.h"

namespace dtcc::plan {

/// A line for each rank, whose cells stand at the time at which they can run.
inline std::string scheduleCsv(const Schedule &schedule) {
  std::string text;
  Timeline timeline = timelineOf(schedule);
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const std::vector<int64_t> &begins = timeline.begins[rank];
    for (int64_t time = 0, i = 0; time < timeline.end; ++time) {
      if (time)
        text += ',';
      if (i < static_cast<int64_t>(begins.size()) && begins[i] == time)
        text += schedule.ranks[rank][i++].str();
    }
    text += '\n';
  }
  return text;
}

} // namespace dtcc::plan

#endif // DTCC_TESTS_UNIT_PLANNER_SCHEDULECSV_H
