//===- MergeChannels.cpp - Messages that may follow each other are of one channel
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/Passes.h"
#include "passes/spmd/program/StageExchanges.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDMERGECHANNELS
#include "passes/spmd/Passes.h.inc"

namespace {
struct MergeChannelsPass : impl::SpmdMergeChannelsBase<MergeChannelsPass> {
  void runOnOperation() override {
    settleExchanges(
        getOperation(), [](auto &exchanges) { plan::mergeChannels(exchanges); },
        [](Operation *op, const plan::StageExchange &exchange) {
          auto rename = [&](auto message) { message.setChannel(std::stoll(exchange.channel)); };
          llvm::TypeSwitch<Operation *>(op).Case<SendOp, ReceiveOp>(rename);
        });
  }
};
} // namespace
} // namespace dtcc::spmd
