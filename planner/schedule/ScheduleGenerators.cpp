//===- ScheduleGenerators.cpp - Pipeline schedules by name
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/schedule/Schedule.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

namespace dtcc::plan {

namespace {
/// The order of forwards and of backwards on a rank, and how they are laid into each other.
struct Pattern {
  int64_t ranks, microbatches, stagesPerRank;

  int64_t total() const { return microbatches * stagesPerRank; }
  /// The k-th forward (backward) of a rank: groups of `ranks` micro-batches pass its
  /// stages one after the other (Narayanan et al. 2021, figure 4).
  Action at(Work work, int64_t rank, int64_t k) const {
    if (stagesPerRank == 1)
      return {work, rank, k};
    int64_t group = ranks * stagesPerRank, virtualStage = k % group / ranks;
    if (work != Work::Forward)
      virtualStage = stagesPerRank - 1 - virtualStage;
    return {work, virtualStage * ranks + rank, k / group * ranks + k % ranks};
  }
};
} // namespace

/// One forward, one backward, after `warmup` forwards.
static std::vector<Action> oneForwardOneBackward(const Pattern &pattern, int64_t rank, int64_t warmup) {
  std::vector<Action> actions;
  int64_t total = pattern.total();
  warmup = std::min(warmup, total);
  for (int64_t k = 0; k < warmup; ++k)
    actions.push_back(pattern.at(Work::Forward, rank, k));
  for (int64_t k = 0; k < total; ++k) {
    if (warmup + k < total)
      actions.push_back(pattern.at(Work::Forward, rank, warmup + k));
    actions.push_back(pattern.at(Work::Backward, rank, k));
  }
  return actions;
}

/// ZB-H1: as 1F1B, with weight gradients `rank` micro-batches behind the input gradients,
/// where 1F1B would wait: every rank then holds as many activations as rank 0.
static std::vector<Action> zeroBubble(const Pattern &pattern, int64_t rank) {
  std::vector<Action> actions;
  int64_t total = pattern.total(), warmup = std::min(pattern.ranks - 1 - rank, total), weights = 0;
  for (int64_t k = 0; k < warmup; ++k)
    actions.push_back(pattern.at(Work::Forward, rank, k));
  for (int64_t k = 0; k < total; ++k) {
    if (warmup + k < total)
      actions.push_back(pattern.at(Work::Forward, rank, warmup + k));
    actions.push_back(pattern.at(Work::InputGradient, rank, k));
    if (k >= rank)
      actions.push_back(pattern.at(Work::WeightGradient, rank, weights++));
  }
  while (weights < total)
    actions.push_back(pattern.at(Work::WeightGradient, rank, weights++));
  return actions;
}

std::optional<int64_t> stagesPerRank(llvm::StringRef name) {
  if (name == "gpipe" || name == "1f1b" || name == "zero-bubble")
    return 1;
  int64_t count = 0;
  if (name.consume_front("interleaved:") && !name.getAsInteger(10, count) && count >= 1)
    return count;
  return std::nullopt;
}

llvm::Expected<Schedule> makeSchedule(llvm::StringRef name, int64_t ranks, int64_t microbatches) {
  std::optional<int64_t> stages = stagesPerRank(name);
  if (!stages)
    return llvm::createStringError("schedule must be gpipe, 1f1b, interleaved:V, zero-bubble or FILE.csv, got: " +
                                   name);
  if (ranks < 1 || microbatches < 1)
    return llvm::createStringError("a schedule needs at least 1 rank and 1 micro-batch, got: " + llvm::Twine(ranks) +
                                   " and " + llvm::Twine(microbatches));
  if (*stages > 1 && microbatches % ranks)
    return llvm::createStringError("micro-batches of " + name + " must be a multiple of its " + llvm::Twine(ranks) +
                                   " ranks, got: " + llvm::Twine(microbatches));
  // Three of each micro-batch at most: forward, input gradient, weight gradient.
  double actions = 3.0 * double(ranks) * double(microbatches) * double(*stages);
  if (actions > double(Schedule::kMostActions))
    return llvm::createStringError(llvm::formatv("a schedule must have at most {0} actions, got: {1:f0} of {2} on {3} "
                                                 "ranks with {4} micro-batches",
                                                 Schedule::kMostActions, actions, name, ranks, microbatches));
  Pattern pattern{ranks, microbatches, *stages};
  Schedule schedule;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (name == "zero-bubble")
      schedule.ranks.push_back(zeroBubble(pattern, rank));
    else if (name == "gpipe")
      schedule.ranks.push_back(oneForwardOneBackward(pattern, rank, microbatches));
    else if (*stages == 1)
      schedule.ranks.push_back(oneForwardOneBackward(pattern, rank, ranks - 1 - rank));
    else
      schedule.ranks.push_back(oneForwardOneBackward(pattern, rank, (ranks - 1 - rank) * 2 + (*stages - 1) * ranks));
  }
  return schedule;
}

} // namespace dtcc::plan
