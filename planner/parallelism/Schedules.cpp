//===- Schedules.cpp - Names and formulas of pipeline schedules
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/parallelism/Schedules.h"
#include <algorithm>
#include <charconv>
#include <iterator>

namespace dtcc::cost {

static constexpr unsigned SeveralStages = ScheduleRow::SeveralStages, WeightsApart = ScheduleRow::WeightsApart,
                          FewerLater = ScheduleRow::FewerLater, Searched = ScheduleRow::Searched;

#define DTCC_ROW(NAME, MNEMONIC, ARGUMENT, FLAGS, WEIGHT, IN_FLIGHT, HAS_PROGRAM)                                      \
  {PipelineKind::NAME,                                                                                                 \
   MNEMONIC,                                                                                                           \
   FLAGS,                                                                                                              \
   WEIGHT,                                                                                                             \
   []([[maybe_unused]] double p, [[maybe_unused]] double v, double m) -> double { return IN_FLIGHT; },                 \
   HAS_PROGRAM},
#define DTCC_SCHEDULE(...) DTCC_ROW(__VA_ARGS__, true)
#define DTCC_PUBLISHED_SCHEDULE(...) DTCC_ROW(__VA_ARGS__, false)
static constexpr ScheduleRow kSchedules[] = {
#include "planner/parallelism/Schedules.def"
};
#undef DTCC_ROW

const ScheduleRow &rowOf(PipelineKind kind) { return kSchedules[static_cast<size_t>(kind) - 1]; }

template <typename Predicate> static std::vector<PipelineKind> schedulesThat(Predicate holds) {
  std::vector<PipelineKind> kinds;
  for (const ScheduleRow &row : kSchedules)
    if (holds(row))
      kinds.push_back(row.kind);
  return kinds;
}

std::vector<PipelineKind> programSchedules() {
  return schedulesThat([](const ScheduleRow &row) { return row.hasProgram; });
}

std::vector<PipelineKind> searchedSchedules() {
  return schedulesThat([](const ScheduleRow &row) { return row.has(ScheduleRow::Searched); });
}

const std::string &scheduleNames() {
#define DTCC_SCHEDULE(NAME, MNEMONIC, ARGUMENT, ...) MNEMONIC ARGUMENT ", "
  static constexpr std::string_view all =
#include "planner/parallelism/Schedules.def"
      ;
  static const std::string names(all.substr(0, all.size() - 2));
  return names;
}

std::string scheduleName(PipelineKind kind, int64_t virtualStages) {
  if (kind == PipelineKind::None)
    return "";
  const ScheduleRow &row = rowOf(kind);
  std::string name(row.name);
  return row.has(ScheduleRow::SeveralStages) ? name + ":" + std::to_string(virtualStages) : name;
}

std::optional<NamedSchedule> parseSchedule(std::string_view text) {
  std::string_view name = text.substr(0, text.find(':'));
  for (const ScheduleRow &row : kSchedules) {
    if (row.name != name || !row.hasProgram)
      continue;
    NamedSchedule result{row.kind, 1};
    if (!row.has(ScheduleRow::SeveralStages))
      return name == text ? std::optional(result) : std::nullopt;
    std::string_view number = text.substr(std::min(text.size(), name.size() + 1));
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), result.virtualStages);
    bool isNumber = error == std::errc() && end == number.data() + number.size() && !number.empty();
    return isNumber && result.virtualStages >= 1 ? std::optional(result) : std::nullopt;
  }
  return std::nullopt;
}

BubbleShares bubbleSharesOf(PipelineKind schedule, int64_t virtualStages) {
  if (schedule == PipelineKind::None)
    return {};
  const ScheduleRow &row = rowOf(schedule);
  double parts = row.has(ScheduleRow::SeveralStages) ? double(std::max<int64_t>(virtualStages, 1)) : 1;
  return {1 / parts, (1 - row.weight) / parts};
}

double bubbleSeconds(PipelineKind schedule, int64_t stages, int64_t virtualStages, double forward, double input,
                     double weight) {
  if (schedule == PipelineKind::None)
    return 0;
  BubbleShares shares = bubbleSharesOf(schedule, virtualStages);
  double stage = shares.all * (forward + input + weight) - shares.filled * weight;
  return double(stages - 1) * std::max(stage, 0.0);
}

double microbatchesInFlight(PipelineKind schedule, int64_t stages, int64_t virtualStages, int64_t microbatches) {
  if (schedule == PipelineKind::None)
    return 1;
  return rowOf(schedule).inFlight(double(stages), double(std::max<int64_t>(virtualStages, 1)), double(microbatches));
}

} // namespace dtcc::cost
