//===- Schedule.h - What the stages of a pipeline do, in which order
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules are data: per rank of the pipeline axis a list of actions on micro-batches.
// The compiler's phases, slots and memory follow from it, so it is fixed at compile time
// and checked before anything is made of it (rules V9 and V10 of docs/verification.md). Names make
// one (generators), files of PyTorch's format say one (torch.distributed.pipelining).
//
// A stage is a piece of the model; a rank may hold several (virtual stages). Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SCHEDULE_SCHEDULE_H
#define DTCC_PLANNER_SCHEDULE_SCHEDULE_H

#include "planner/parallelism/Schedules.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace dtcc::plan {

/// Forward; input and weight gradients apart; both at once. The letters of the file format.
enum class Work : char { Forward = 'F', InputGradient = 'I', WeightGradient = 'W', Backward = 'B' };

struct Action {
  Work work = Work::Forward;
  int64_t stage = 0;
  int64_t microbatch = 0;
  /// "1F0".
  std::string str() const;
  bool operator==(const Action &) const = default;
};

struct Schedule {
  /// Most actions that a named schedule has. It is checked before the schedule is made, as a plan of a few bytes may
  /// ask for any number of ranks and micro-batches.
  static constexpr int64_t kMostActions = int64_t(1) << 22;

  /// Actions of each rank of the pipeline axis, in order.
  std::vector<std::vector<Action>> ranks;

  /// Stages, and micro-batches, that occur: one more than the highest number.
  int64_t stages() const;
  int64_t microbatches() const;
  /// The rank that runs each stage: the rank of the stage's first action, or -1 if it has none.
  std::vector<int64_t> homes() const;
  /// The rank that runs `stage`, as homes() says; nothing if it has no action.
  std::optional<int64_t> rankOf(int64_t stage) const;
  /// Whether `stage` computes its input and weight gradients apart.
  bool splits(int64_t stage) const;
  /// Most pairs of stage and micro-batch of a rank whose forward has run and whose
  /// backward (W, where it is apart) has not: how many sets of activations it holds.
  int64_t peakInFlight(int64_t rank) const;
  /// Likewise of some stages of one rank: how many micro-batches' values they keep at most at a time.
  int64_t peakOfStages(llvm::ArrayRef<int64_t> stages) const;

  /// Checks the schedule for `stages` stages and `microbatches` micro-batches: every pair
  /// once forward and once backward (B, or I and W), each stage on one rank, in an order
  /// that its dependences allow, micro-batch 0 first; and that ranks which send without
  /// waiting for more than one message of an edge, and receive in the order sent, end.
  llvm::Error check(int64_t stages, int64_t microbatches) const;

  bool operator==(const Schedule &) const = default;
};

/// When every action begins if F, I and W take 1 and B takes 2, per rank; and the end.
struct Timeline {
  std::vector<std::vector<int64_t>> begins;
  int64_t end = 0;
  static int64_t length(Work work) { return work == Work::Backward ? 2 : 1; }
  /// The part of all ranks' time in which they wait, 0 to 1.
  double bubble(const Schedule &schedule) const;
};
/// Timeline of a schedule that passed its check.
Timeline timelineOf(const Schedule &schedule);

/// The actions of a schedule of planner/parallelism/Schedules.def: "gpipe", "1f1b", "interleaved:V" (V stages a rank;
/// micro-batches a multiple of the ranks), "zero-bubble". An error for another name, or numbers that the schedule does
/// not allow.
llvm::Expected<Schedule> makeSchedule(llvm::StringRef name, int64_t ranks, int64_t microbatches);
/// Stages a rank of a named schedule: V of "interleaved:V", else 1. Nothing for another name.
std::optional<int64_t> stagesPerRank(llvm::StringRef name);

/// Reads the CSV that PyTorch's schedules are written in: a line per rank, a cell per
/// time step, "0F1" (stage 0, forward, micro-batch 1), empty cells for waiting. Cells of
/// communication and sharding (SEND_F, UNSHARD, ...) are passed over: the compiler places
/// these itself. `file` is named in the message of an error, with line and cell.
llvm::Expected<Schedule> parseScheduleCsv(llvm::StringRef text, llvm::StringRef file);

/// A line per rank, time to the right: "F0 F1 B0 ..", with the number of the stage in
/// front where a rank has several. At most `width` characters a line.
std::string scheduleChart(const Schedule &schedule, size_t width = 120);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SCHEDULE_SCHEDULE_H
