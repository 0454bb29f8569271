//===- StepEvaluator.cpp - Runs a partitioned step, of one program or of all stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/dist/StepEvaluator.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace dtcc::dist {

template <typename T> static std::string textOf(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

StepEvaluator::StepEvaluator(ModuleOp module, uint64_t seed) : module(module) {
  for (auto program : module.getOps<ProgramOp>()) {
    ops.push_back(program);
    programs.emplace_back(module, program, seed);
  }
  current.resize(programs.size());
}

LogicalResult StepEvaluator::initialize(const llvm::StringMap<HostTensor> &states) {
  for (ProgramEvaluator &program : programs)
    if (failed(program.initialize(states)))
      return failure();
  return success();
}

plan::Meeting StepEvaluator::meetingOf(int64_t stage, Operation *op) const {
  plan::Meeting meeting;
  meeting.where = "in " + programs[stage].where();
  auto message = [&](auto op, plan::Meeting::Kind kind, Value value) {
    meeting.kind = kind;
    meeting.peer = op.getPeer();
    meeting.channel = std::to_string(op.getChannel());
    meeting.what = textOf(value.getType());
  };
  if (auto send = dyn_cast<SendOp>(op)) {
    message(send, plan::Meeting::Send, send.getX());
    return meeting;
  }
  if (auto receive = dyn_cast<ReceiveOp>(op)) {
    message(receive, plan::Meeting::Receive, receive.getY());
    return meeting;
  }
  meeting.kind = plan::Meeting::Collective;
  Axes axes;
  if (auto bucket = dyn_cast<ReduceBucketOp>(op)) {
    axes = toAxes(bucket.getSum());
    meeting.what = "reduce_bucket of " + std::to_string(module.lookupSymbol<BucketOp>(bucket.getBucket()).getLength());
  } else {
    auto reduce = cast<AllReduceOp>(op);
    axes = toAxes(reduce.getAxes());
    meeting.what = "all_reduce of " + textOf(reduce.getType());
    if (std::optional<ArrayRef<int64_t>> members = reduce.getMembers())
      meeting.members = members->vec();
  }
  meeting.channel = llvm::join(axes, ",");
  if (!meeting.members.empty())
    for (int64_t member : meeting.members)
      meeting.channel += "." + std::to_string(member);
  else
    for (size_t other = 0; other < programs.size(); ++other)
      meeting.members.push_back(other);
  return meeting;
}

/// Adds up what the stages have added up within themselves: everywhere in the same order.
void StepEvaluator::reduceAcross(ArrayRef<int64_t> stages) {
  for (int64_t stage : stages)
    programs[stage].reduceWithin(current[stage]);
  if (isa<ReduceBucketOp>(current[stages.front()])) {
    auto cells = [&](int64_t stage) -> std::vector<std::vector<double>> & {
      return programs[stage].cellsOf(cast<ReduceBucketOp>(current[stage]).getBucket());
    };
    auto sum = cells(stages.front());
    for (int64_t stage : stages.drop_front())
      for (auto [to, from] : llvm::zip_equal(sum, cells(stage)))
        for (auto [a, b] : llvm::zip_equal(to, from))
          a += b;
    for (int64_t stage : stages)
      cells(stage) = sum;
    return;
  }
  auto values = [&](int64_t stage) -> Shards & { return programs[stage].valuesOf(current[stage]->getResult(0)); };
  Shards all = values(stages.front());
  for (int64_t stage : stages.drop_front())
    for (auto [to, from] : llvm::zip_equal(all, values(stage)))
      for (auto [a, b] : llvm::zip_equal(to.floats, from.floats))
        a += b;
  for (int64_t stage : stages)
    values(stage) = all;
}

void StepEvaluator::exchange(ArrayRef<int64_t> stages) {
  int64_t stage = stages.front();
  if (auto send = dyn_cast<SendOp>(current[stage]))
    messages[{stage, send.getPeer(), send.getChannel()}].push_back(programs[stage].valuesOf(send.getX()));
  else if (auto receive = dyn_cast<ReceiveOp>(current[stage])) {
    std::deque<Shards> &sent = messages[{receive.getPeer(), stage, receive.getChannel()}];
    programs[stage].valuesOf(receive.getY()) = std::move(sent.front());
    sent.pop_front();
  } else {
    reduceAcross(stages);
  }
}

FailureOr<StepEvaluator::Report> StepEvaluator::run(const llvm::StringMap<HostTensor> &inputs) {
  plan::Rendezvous rendezvous(programs.size());
  for (auto [stage, program] : llvm::enumerate(programs)) {
    program.begin(inputs);
    // As many may be on their way as a run of a phase sends: what the runtime has room for.
    ops[stage].walk([&](SendOp send) {
      plan::Meeting meeting;
      meeting.peer = send.getPeer();
      meeting.channel = std::to_string(send.getChannel());
      rendezvous.reserve(stage, meeting);
    });
  }
  messages.clear();
  auto next = [&](int64_t stage) -> FailureOr<std::optional<plan::Meeting>> {
    FailureOr<Operation *> op = programs[stage].advance();
    if (failed(op))
      return failure();
    current[stage] = *op;
    return *op ? std::optional(meetingOf(stage, *op)) : std::nullopt;
  };
  FailureOr<std::string> problem = rendezvous.run(next, [&](ArrayRef<int64_t> stages) { exchange(stages); });
  if (failed(problem))
    return failure();
  if (!problem->empty())
    return ops.front().emitError(*problem);
  for (auto [stage, program] : llvm::enumerate(programs))
    if (!(program.reported() == programs.front().reported()))
      return ops[stage].emitError("stages must report the same, got ")
             << programs.front().reported().lossSum << " and " << program.reported().lossSum;
  return programs.front().reported();
}

FailureOr<llvm::StringMap<HostTensor>> StepEvaluator::states() const {
  llvm::StringMap<HostTensor> all;
  for (const ProgramEvaluator &program : programs) {
    FailureOr<llvm::StringMap<HostTensor>> held = program.states();
    if (failed(held))
      return failure();
    for (auto &entry : *held) {
      auto [known, isNew] = all.try_emplace(entry.first(), entry.second);
      if (!isNew && (known->second.floats != entry.second.floats || known->second.ints != entry.second.ints))
        return module.lookupSymbol(entry.first())->emitError("copies of two stages differ");
    }
  }
  return all;
}

} // namespace dtcc::dist
