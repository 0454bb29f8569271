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
    settleMeetings(
        getOperation(), [](auto &meetings) { plan::mergeChannels(meetings); },
        [](Operation *op, const plan::Meeting &meeting) {
          auto rename = [&](auto message) { message.setChannel(std::stoll(meeting.channel)); };
          llvm::TypeSwitch<Operation *>(op).Case<SendOp, ReceiveOp>(rename);
        });
  }
};
} // namespace
} // namespace dtcc::dist
