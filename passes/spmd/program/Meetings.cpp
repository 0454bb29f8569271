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

template <typename T> static std::string textOf(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

template <typename Op> static plan::Meeting messageOf(Op op, plan::Meeting::Kind kind, Value value) {
  plan::Meeting meeting;
  meeting.kind = kind;
  meeting.peer = op.getPeer();
  meeting.channel = std::to_string(op.getChannel());
  meeting.what = textOf(value.getType());
  return meeting;
}

std::optional<plan::Meeting> meetingOf(Operation *op, StringRef axis, int64_t stages) {
  if (auto send = dyn_cast<SendOp>(op)) {
    plan::Meeting meeting = messageOf(send, plan::Meeting::Send, send.getX());
    meeting.room = send.getRoom();
    return meeting;
  }
  if (auto receive = dyn_cast<ReceiveOp>(op))
    return messageOf(receive, plan::Meeting::Receive, receive.getY());
  plan::Meeting meeting;
  meeting.kind = plan::Meeting::Collective;
  Axes axes;
  if (auto bucket = dyn_cast<ReduceBucketOp>(op)) {
    axes = toAxes(bucket.getSum());
  } else if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    axes = toAxes(reduce.getAxes());
    meeting.what = "all_reduce of " + textOf(reduce.getType());
    if (std::optional<ArrayRef<int64_t>> members = reduce.getMembers())
      meeting.members = members->vec();
  }
  if (!contains(axes, axis.str()))
    return std::nullopt;
  if (auto bucket = dyn_cast<ReduceBucketOp>(op)) {
    auto storage =
        SymbolTable::lookupNearestSymbolFrom<BucketOp>(op->getParentOfType<ProgramOp>(), bucket.getBucketAttr());
    meeting.what = "reduce_bucket of " + std::to_string(storage.getLength());
  }
  meeting.channel = llvm::join(axes, ",");
  for (int64_t member : meeting.members)
    meeting.channel += "." + std::to_string(member);
  if (meeting.members.empty())
    for (int64_t other = 0; other < stages; ++other)
      meeting.members.push_back(other);
  return meeting;
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
  if (ArrayAttr actions = program.getActionsAttr())
    for (const PhaseRun &run : toPhaseRuns(actions))
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
