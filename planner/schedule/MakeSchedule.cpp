//===- MakeSchedule.cpp - The actions of a named schedule
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/Pattern.h"
#include "llvm/Support/FormatVariadic.h"

namespace dtcc::plan {

using cost::PipelineKind;

static std::vector<Action> actionsOf(PipelineKind kind, const Pattern &pattern, int64_t rank) {
  switch (kind) {
#define DTCC_SCHEDULE(NAME, ...)                                                                                       \
  case PipelineKind::NAME:                                                                                             \
    return rankOf##NAME(pattern, rank);
#include "planner/parallelism/Schedules.def"
  default:
    return {};
  }
}

std::optional<int64_t> stagesPerRank(llvm::StringRef name) {
  std::optional<cost::NamedSchedule> schedule = cost::parseSchedule(name);
  return schedule ? std::optional(schedule->virtualStages) : std::nullopt;
}

llvm::Expected<Schedule> makeSchedule(llvm::StringRef name, int64_t ranks, int64_t microbatches) {
  std::optional<cost::NamedSchedule> named = cost::parseSchedule(name);
  if (!named)
    return llvm::createStringError("schedule must be " + cost::scheduleNames() + " or FILE.csv, got: " + name);
  if (ranks < 1 || microbatches < 1)
    return llvm::createStringError("a schedule needs at least 1 rank and 1 micro-batch, got: " + llvm::Twine(ranks) +
                                   " and " + llvm::Twine(microbatches));
  if (named->virtualStages > 1 && microbatches % ranks)
    return llvm::createStringError("micro-batches of " + name + " must be a multiple of its " + llvm::Twine(ranks) +
                                   " ranks, got: " + llvm::Twine(microbatches));
  // Three of each micro-batch at most: forward, input gradient, weight gradient.
  double actions = 3.0 * double(ranks) * double(microbatches) * double(named->virtualStages);
  if (actions > double(Schedule::kMostActions))
    return llvm::createStringError(llvm::formatv("a schedule must have at most {0} actions, got: {1:f0} of {2} on {3} "
                                                 "ranks with {4} micro-batches",
                                                 Schedule::kMostActions, actions, name, ranks, microbatches));
  Pattern pattern{ranks, microbatches, named->virtualStages};
  Schedule schedule;
  for (int64_t rank = 0; rank < ranks; ++rank)
    schedule.ranks.push_back(actionsOf(named->kind, pattern, rank));
  return schedule;
}

} // namespace dtcc::plan
