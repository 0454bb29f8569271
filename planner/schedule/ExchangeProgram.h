//===- ExchangeProgram.h - What the step of a stage exchanges with others
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DTCC_PLANNER_SCHEDULE_EXCHANGEPROGRAM_H
#define DTCC_PLANNER_SCHEDULE_EXCHANGEPROGRAM_H

#include "planner/schedule/Rendezvous.h"

namespace dtcc::plan {

struct ExchangeProgram {
  struct Phase {
    std::string name;
    std::vector<StageExchange> exchanges;
    /// Whether it is of an evaluation, which never runs within a step of training.
    bool evaluates = false;
  };
  std::vector<Phase> phases;
  /// Runs of a step, in order: the number of a phase, and a micro-batch.
  std::vector<std::pair<size_t, int64_t>> runs;
};

/// Whether the steps of all stages end, and agree on what they exchange: what is wrong, else nothing.
std::string checkExchanges(llvm::ArrayRef<ExchangeProgram> programs);

/// Makes one of the channels of a stage to another on which both have the messages in one order: one a direction of a
/// pair, but for odd schedules. Their new names are numbers from 0. What ended still ends, as every step that could be
/// taken still can: who may receive has received all that was sent on the common channel before, so his message is
/// the next one; who may send finds room, since there is as much as on all of them together.
void mergeChannels(llvm::MutableArrayRef<ExchangeProgram> programs);

/// Gives the sends on which stages would wait for each other for ever the room that they need not to, one message
/// at a time: as where a value skips stages, and more of it are made than are taken. Steps and evaluations that share a
/// channel have room enough by themselves each. What still never ends is no matter of room.
void reserveExchanges(llvm::MutableArrayRef<ExchangeProgram> programs);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SCHEDULE_EXCHANGEPROGRAM_H
