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
    settleMeetings(
        getOperation(), [](auto &meetings) { plan::reserveMeetings(meetings); },
        [](Operation *op, const plan::Meeting &meeting) {
          if (auto send = dyn_cast<SendOp>(op))
            send.setRoom(meeting.room);
        });
  }
};
} // namespace
} // namespace dtcc::dist
