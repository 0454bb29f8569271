//===- Meetings.cpp - Which ops of a stage's program concern other stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/program/Meetings.h"
#include "dialects/interfaces/PhaseRun.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace dtcc::spmd {

static plan::Meeting messageOf(const Communication &message, std::string what) {
  plan::Meeting meeting;
  meeting.kind = message.sends ? plan::Meeting::Send : plan::Meeting::Receive;
  meeting.peer = message.peer;
  meeting.channel = std::to_string(message.channel);
  meeting.room = message.room;
  meeting.what = std::move(what);
  return meeting;
}

static plan::Meeting reductionOf(const Communication &exchange, std::string what, int64_t stages) {
  plan::Meeting meeting;
  meeting.kind = plan::Meeting::Collective;
  meeting.what = std::move(what);
  meeting.members = exchange.members.vec();
  meeting.channel = llvm::join(toAxes(exchange.axes), ",");
  for (int64_t member : meeting.members)
    meeting.channel += "." + std::to_string(member);
  if (meeting.members.empty())
    for (int64_t other = 0; other < stages; ++other)
      meeting.members.push_back(other);
  return meeting;
}

std::optional<plan::Meeting> meetingOf(Operation *op, StringRef axis, int64_t stages) {
  auto communicates = dyn_cast<CommunicationOpInterface>(op);
  if (!communicates)
    return std::nullopt;
  for (const Communication &exchange : communicates.getCommunications()) {
    if (!exchange.collective)
      return messageOf(exchange, communicates.describeContent());
    // Every stage gets the whole reduction.
    bool isReduction = exchange.info().traffic == Traffic::TwiceAround;
    if (isReduction && contains(toAxes(exchange.axes), axis.str()))
      return reductionOf(exchange, (op->getName().stripDialect() + " of " + communicates.describeContent()).str(),
                         stages);
  }
  return std::nullopt;
}

plan::MeetingProgram meetingsOf(ProgramOp program, int64_t stages, std::vector<std::vector<Operation *>> *ops) {
  plan::MeetingProgram result;
  llvm::StringMap<size_t> numbers;
  for (auto phase : program.getBody().getOps<PhaseOp>()) {
    numbers[phase.getSymName()] = result.phases.size();
    result.phases.push_back({phase.getSymName().str(), {}});
    if (ops)
      ops->emplace_back();
    for (Operation &op : phase.getBody().front())
      if (std::optional<plan::Meeting> meeting = meetingOf(&op, program.getAxis().value_or(""), stages)) {
        result.phases.back().meetings.push_back(std::move(*meeting));
        if (ops)
          ops->back().push_back(&op);
      }
  }
  if (RunsAttr actions = program.getActionsAttr())
    for (const PhaseRun &run : actions.getRuns())
      result.runs.push_back({numbers.lookup(run.phase), run.slot});
  return result;
}

void settleMeetings(ModuleOp module, llvm::function_ref<void(std::vector<plan::MeetingProgram> &)> settle,
                    llvm::function_ref<void(Operation *, const plan::Meeting &)> tell) {
  SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
  if (programs.empty() || !programs.front().getStage())
    return;
  std::vector<plan::MeetingProgram> meetings;
  std::vector<std::vector<std::vector<Operation *>>> ops(programs.size());
  for (auto [stage, program] : llvm::enumerate(programs))
    meetings.push_back(meetingsOf(program, programs.size(), &ops[stage]));
  settle(meetings);
  for (auto [stage, program] : llvm::enumerate(meetings))
    for (auto [phase, list] : llvm::enumerate(program.phases))
      for (auto [at, meeting] : llvm::enumerate(list.meetings))
        tell(ops[stage][phase][at], meeting);
}

} // namespace dtcc::spmd
