//===- StageExchanges.cpp - Ops that exchange something with other stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/program/StageExchanges.h"
#include "dialects/interfaces/PhaseRun.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace dtcc::spmd {

static plan::StageExchange messageOf(const Communication &message, std::string what) {
  plan::StageExchange exchange;
  exchange.kind = message.sends ? plan::StageExchange::Send : plan::StageExchange::Receive;
  exchange.peer = message.peer;
  exchange.channel = std::to_string(message.channel);
  exchange.room = message.room;
  exchange.what = std::move(what);
  return exchange;
}

static plan::StageExchange reductionOf(const Communication &communication, std::string what, int64_t stages) {
  plan::StageExchange exchange;
  exchange.kind = plan::StageExchange::Collective;
  exchange.what = std::move(what);
  exchange.members = communication.members.vec();
  exchange.channel = llvm::join(toAxes(communication.axes), ",");
  for (int64_t member : exchange.members)
    exchange.channel += "." + std::to_string(member);
  if (exchange.members.empty())
    for (int64_t other = 0; other < stages; ++other)
      exchange.members.push_back(other);
  return exchange;
}

std::optional<plan::StageExchange> exchangeOf(Operation *op, StringRef axis, int64_t stages) {
  auto communicates = dyn_cast<CommunicationOpInterface>(op);
  if (!communicates)
    return std::nullopt;
  for (const Communication &communication : communicates.getCommunications()) {
    if (!communication.collective)
      return messageOf(communication, communicates.describeContent());
    // Every stage gets the whole reduction.
    bool isReduction = communication.info().traffic == Traffic::TwiceAround;
    if (isReduction && contains(toAxes(communication.axes), axis.str()))
      return reductionOf(communication, (op->getName().stripDialect() + " of " + communicates.describeContent()).str(),
                         stages);
  }
  return std::nullopt;
}

plan::ExchangeProgram exchangesOf(ProgramOp program, int64_t stages, std::vector<std::vector<Operation *>> *ops) {
  plan::ExchangeProgram result;
  llvm::StringMap<size_t> numbers;
  for (auto phase : program.getBody().getOps<PhaseOp>()) {
    numbers[phase.getSymName()] = result.phases.size();
    result.phases.push_back({phase.getSymName().str(), {}, isOfEvaluation(phase.getSymName())});
    if (ops)
      ops->emplace_back();
    for (Operation &op : phase.getBody().front())
      if (std::optional<plan::StageExchange> exchange = exchangeOf(&op, program.getAxis().value_or(""), stages)) {
        result.phases.back().exchanges.push_back(std::move(*exchange));
        if (ops)
          ops->back().push_back(&op);
      }
  }
  if (RunsAttr actions = program.getActionsAttr())
    for (const PhaseRun &run : actions.getRuns())
      result.runs.push_back({numbers.lookup(run.phase), run.slot});
  return result;
}

void settleExchanges(ModuleOp module, llvm::function_ref<void(std::vector<plan::ExchangeProgram> &)> settle,
                     llvm::function_ref<void(Operation *, const plan::StageExchange &)> tell) {
  SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
  if (programs.empty() || !programs.front().getStage())
    return;
  std::vector<plan::ExchangeProgram> exchanges;
  std::vector<std::vector<std::vector<Operation *>>> ops(programs.size());
  for (auto [stage, program] : llvm::enumerate(programs))
    exchanges.push_back(exchangesOf(program, programs.size(), &ops[stage]));
  settle(exchanges);
  for (auto [stage, program] : llvm::enumerate(exchanges))
    for (auto [phase, list] : llvm::enumerate(program.phases))
      for (auto [at, exchange] : llvm::enumerate(list.exchanges))
        tell(ops[stage][phase][at], exchange);
}

} // namespace dtcc::spmd
