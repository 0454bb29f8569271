//===- Timeline.h - What the ranks of a pipeline do in a step, and when
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result of a simulation of a step as a plain value, from which charts and traces are
// drawn. One rank stands for all that hold the same stages. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SCHEDULE_TIMELINE_H
#define DTCC_PLANNER_SCHEDULE_TIMELINE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtcc::cost {

/// Streams of a device that run at the same time: kernels, collectives, messages to neighbouring stages, copies to
/// and from the host.
enum class TimelineStream { Compute, Collectives, Messages, Copies };
std::string_view toString(TimelineStream stream);

enum class TimelineWork {
  Forward,
  Backward,
  InputGradient,
  WeightGradient,
  SendForward,
  SendBackward,
  Gather,
  Scatter,
  Reduce,
  Update,
  Host
};

struct TimelineEvent {
  /// Rank on the pipeline axis.
  int64_t rank = 0;
  TimelineStream stream = TimelineStream::Compute;
  TimelineWork work = TimelineWork::Forward;
  /// -1 where it is of none: the end of a step, a rank's own preparation.
  int64_t stage = -1, microbatch = -1;
  /// Index of the unit (layer) in its stage, in forward order; -1 for the stage as a whole.
  int64_t unit = -1;
  /// Seconds from the start of the step.
  double start = 0, end = 0;

  /// "F3", "B3", "I3", "W3" (the letters of schedule files, with the micro-batch), "send F3",
  /// "gather 2", "scatter 2", "reduce", "update", "host".
  std::string name() const;
};

struct StepTimeline {
  /// The whole step.
  double seconds = 0;
  int64_t ranks = 0;
  /// Events ordered by rank, then stream, then start; empty if only the seconds were asked for.
  std::vector<TimelineEvent> events;
};

} // namespace dtcc::cost

#endif // DTCC_PLANNER_SCHEDULE_TIMELINE_H
