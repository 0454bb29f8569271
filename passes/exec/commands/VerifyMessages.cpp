//===- VerifyMessages.cpp - The stages of a pipeline never wait for each other for ever
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rule V10 of docs/verification.md, on final programs: the check of a schedule knows of one message
// an edge, not of which value is sent when, nor of what passes added since. Commands are
// taken in the order of the program: those of a second stream wait for less.
//
//===----------------------------------------------------------------------===//

#include "dialects/spmd/Spmd.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/Runs.h"
#include "planner/schedule/ExchangeProgram.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_VERIFYMESSAGES
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {
/// The commands of a stage that concern others.
class ExchangeFinder {
public:
  ExchangeFinder(ProgramOp program, int64_t stages) : program(program) {
    for (auto op : program.getOps<CommunicatorOp>())
      if (std::string axis = program.getAxis().value_or("").str(); spmd::contains(spmd::toAxes(op.getAxes()), axis)) {
        std::vector<int64_t> &members = groups[op.getSymName()];
        if (std::optional<ArrayRef<int64_t>> some = op.getMembers())
          members = some->vec();
        else
          for (int64_t stage = 0; stage < stages; ++stage)
            members.push_back(stage);
      }
  }
  plan::ExchangeProgram find() {
    plan::ExchangeProgram result;
    for (auto phase : program.getOps<PhaseOp>()) {
      result.phases.push_back({phase.getSymName().str(), {}});
      for (auto command : phase.getOps<CommunicationOpInterface>())
        if (std::optional<plan::StageExchange> exchange = exchangeOf(command))
          result.phases.back().exchanges.push_back(std::move(*exchange));
    }
    for (const Run &run : runsOf(program))
      result.runs.push_back({run.phase, run.slot});
    return result;
  }

private:
  /// Nothing if no other stage takes part.
  std::optional<plan::StageExchange> exchangeOf(CommunicationOpInterface command) const {
    Communication communication = command.getCommunications().front();
    StringRef communicator = communication.communicator.getValue();
    plan::StageExchange exchange;
    exchange.channel = "@" + communicator.str();
    exchange.what = command.describeContent();
    if (!communication.collective) {
      exchange.kind = communication.sends ? plan::StageExchange::Send : plan::StageExchange::Receive;
      exchange.peer = communication.peer;
      exchange.room = communication.room;
      return exchange;
    }
    auto group = groups.find(communicator);
    if (group == groups.end())
      return std::nullopt;
    exchange.kind = plan::StageExchange::Collective;
    exchange.members = group->second;
    std::string_view separator = exchange.what.empty() ? "" : " of ";
    exchange.what = (llvm::Twine(communication.info().mnemonic) + separator + exchange.what).str();
    return exchange;
  }

  ProgramOp program;
  llvm::StringMap<std::vector<int64_t>> groups;
};

struct VerifyMessages : dtcc::exec::impl::VerifyMessagesBase<VerifyMessages> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    SmallVector<ProgramOp> programs(getOperation().getOps<ProgramOp>());
    if (programs.empty() || !programs.front().getStage())
      return;
    std::vector<plan::ExchangeProgram> stages;
    for (auto [number, program] : llvm::enumerate(programs)) {
      if (int64_t stage = program.getStage().value_or(-1); stage != int64_t(number)) {
        program.emitOpError("must be that of stage ") << number << ", got: " << stage;
        return signalPassFailure();
      }
      stages.push_back(ExchangeFinder(program, programs.size()).find());
      auto known = [&](int64_t stage) { return stage >= 0 && stage < int64_t(programs.size()); };
      for (auto op : program.getOps<CommunicatorOp>())
        for (int64_t member : op.getMembers().value_or(ArrayRef<int64_t>()))
          if (!known(member)) {
            op.emitOpError("member must be one of the ") << programs.size() << " stages, got: " << member;
            return signalPassFailure();
          }
    }
    std::string problem = plan::checkExchanges(stages);
    if (problem.empty())
      return;
    programs.front().emitOpError(problem);
    signalPassFailure();
  }
};
} // namespace
