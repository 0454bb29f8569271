//===- ReserveMessages.cpp - How many messages may be on their way
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/dist/Meetings.h"
#include "passes/dist/Passes.h"

using namespace mlir;

namespace dtcc::dist {
#define GEN_PASS_DEF_DISTRESERVEMESSAGES
#include "passes/dist/Passes.h.inc"

namespace {
struct ReserveMessagesPass : impl::DistReserveMessagesBase<ReserveMessagesPass> {
  void runOnOperation() override {
    SmallVector<ProgramOp> programs(getOperation().getOps<ProgramOp>());
    if (programs.empty() || !programs.front().getStage())
      return;
    std::vector<plan::MeetingProgram> meetings;
    std::vector<std::vector<std::vector<Operation *>>> ops(programs.size());
    for (auto [stage, program] : llvm::enumerate(programs))
      meetings.push_back(meetingsOf(program, programs.size(), &ops[stage]));
    plan::reserveMeetings(meetings);
    for (auto [stage, program] : llvm::enumerate(meetings))
      for (auto [phase, list] : llvm::enumerate(program.phases))
        for (auto [at, meeting] : llvm::enumerate(list.meetings))
          if (auto send = dyn_cast<SendOp>(ops[stage][phase][at]))
            send.setRoom(meeting.room);
  }
};
} // namespace
} // namespace dtcc::dist
