//===- MergeChannels.cpp - Messages that may follow each other are of one channel
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/dist/Meetings.h"
#include "passes/dist/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dtcc::dist {
#define GEN_PASS_DEF_DISTMERGECHANNELS
#include "passes/dist/Passes.h.inc"

namespace {
struct MergeChannelsPass : impl::DistMergeChannelsBase<MergeChannelsPass> {
  void runOnOperation() override {
    SmallVector<ProgramOp> programs(getOperation().getOps<ProgramOp>());
    if (programs.empty() || !programs.front().getStage())
      return;
    std::vector<plan::MeetingProgram> meetings;
    std::vector<std::vector<std::vector<Operation *>>> ops(programs.size());
    for (auto [stage, program] : llvm::enumerate(programs))
      meetings.push_back(meetingsOf(program, programs.size(), &ops[stage]));
    plan::mergeChannels(meetings);
    for (auto [stage, program] : llvm::enumerate(meetings))
      for (auto [phase, list] : llvm::enumerate(program.phases))
        for (auto [at, meeting] : llvm::enumerate(list.meetings)) {
          auto rename = [&number = meeting.channel](auto op) { op.setChannel(std::stoll(number)); };
          llvm::TypeSwitch<Operation *>(ops[stage][phase][at]).Case<SendOp, ReceiveOp>(rename);
        }
  }
};
} // namespace
} // namespace dtcc::dist
