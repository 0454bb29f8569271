//===- Schedules.h - Names and formulas of pipeline schedules
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of Schedules.def as values. The actions of a schedule are made by planner/schedule.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_PARALLELISM_SCHEDULES_H
#define DTCC_PLANNER_PARALLELISM_SCHEDULES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtcc::cost {

/// The rows of Schedules.def. None stands for a single stage.
enum class PipelineKind {
  None,
#define DTCC_SCHEDULE(NAME, ...) NAME,
#define DTCC_PUBLISHED_SCHEDULE(NAME, ...) NAME,
#include "planner/parallelism/Schedules.def"
};

struct ScheduleRow {
  enum Flags : unsigned {
    /// A rank has several stages.
    SeveralStages = 1,
    /// Weight gradients are computed behind input gradients.
    WeightsApart = 2,
    /// Later stages have fewer micro-batches in flight.
    FewerLater = 4,
    /// A search tries the schedule without being asked.
    Searched = 8,
  };
  PipelineKind kind;
  std::string_view name;
  unsigned flags;
  double weight;
  double (*inFlight)(double p, double v, double m);
  bool hasProgram;

  bool has(Flags flag) const { return flags & flag; }
};
/// The row of a schedule other than None.
const ScheduleRow &rowOf(PipelineKind kind);
/// Whether the schedule has the property. PipelineKind::None has none.
inline bool has(PipelineKind kind, ScheduleRow::Flags flag) {
  return kind != PipelineKind::None && rowOf(kind).has(flag);
}

/// Schedules that programs run.
std::vector<PipelineKind> programSchedules();
/// Schedules that a search tries without being asked.
std::vector<PipelineKind> searchedSchedules();
/// "gpipe, 1f1b, interleaved:V, zero-bubble", for messages.
const std::string &scheduleNames();

/// "1f1b", "interleaved:2"; empty for None.
std::string scheduleName(PipelineKind kind, int64_t virtualStages);
struct NamedSchedule {
  PipelineKind kind = PipelineKind::None;
  /// Stages of a rank.
  int64_t virtualStages = 1;
};
/// Reads what scheduleName writes of a schedule that programs run; nothing for other text.
std::optional<NamedSchedule> parseSchedule(std::string_view text);

/// Shares of a stage's time in the bubble: a stage that needs `time` for a micro-batch, `weight` of it for weight
/// gradients, lets each other stage wait for `all * time - filled * weight`.
struct BubbleShares {
  double all = 1, filled = 0;
};
BubbleShares bubbleSharesOf(PipelineKind schedule, int64_t virtualStages);

/// Seconds in which a rank waits for others in one step of a pipeline of `stages`, whose stages but the slowest need
/// `forward`, `input` and `weight` (gradient) for a micro-batch, in the mean.
double bubbleSeconds(PipelineKind schedule, int64_t stages, int64_t virtualStages, double forward, double input,
                     double weight);

/// Micro-batches whose activations the fullest stage holds at once, as a fraction of whole stages: a stage of an
/// interleaved schedule is a part of one.
double microbatchesInFlight(PipelineKind schedule, int64_t stages, int64_t virtualStages, int64_t microbatches);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_PARALLELISM_SCHEDULES_H
