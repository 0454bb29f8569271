//===- ReserveMessages.cpp - How many messages may be on their way
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/Passes.h"
#include "passes/spmd/program/StageExchanges.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDRESERVEMESSAGES
#include "passes/spmd/Passes.h.inc"

namespace {
struct ReserveMessagesPass : impl::SpmdReserveMessagesBase<ReserveMessagesPass> {
  void runOnOperation() override {
    settleExchanges(
        getOperation(), [](auto &exchanges) { plan::reserveExchanges(exchanges); },
        [](Operation *op, const plan::StageExchange &exchange) {
          if (auto send = dyn_cast<SendOp>(op))
            send.setRoom(exchange.room);
        });
  }
};
} // namespace
} // namespace dtcc::spmd
