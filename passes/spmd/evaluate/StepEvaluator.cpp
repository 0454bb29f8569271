//===- StepEvaluator.cpp - Runs a partitioned step, of one program or of all stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/evaluate/StepEvaluator.h"
#include "passes/spmd/program/StageExchanges.h"

using namespace mlir;

namespace dtcc::spmd {

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
  Operation *op = current[stage];
  Communication exchange = cast<CommunicationOpInterface>(op).getCommunications().front();
  if (exchange.collective)
    return reduceAcross(stages);
  if (exchange.sends) {
    messages[{stage, exchange.peer, exchange.channel}].push_back(programs[stage].valuesOf(op->getOperand(0)));
    return;
  }
  std::deque<Shards> &sent = messages[{exchange.peer, stage, exchange.channel}];
  programs[stage].valuesOf(op->getResult(0)) = std::move(sent.front());
  sent.pop_front();
}

FailureOr<StepEvaluator::Report> StepEvaluator::run(const llvm::StringMap<HostTensor> &inputs) {
  plan::Rendezvous rendezvous(programs.size());
  for (auto [stage, program] : llvm::enumerate(programs)) {
    program.begin(inputs);
    for (const plan::ExchangeProgram::Phase &phase : exchangesOf(ops[stage], programs.size()).phases)
      for (const plan::StageExchange &exchange : phase.exchanges)
        if (exchange.kind == plan::StageExchange::Send)
          rendezvous.reserve(stage, exchange);
  }
  messages.clear();
  auto next = [&](int64_t stage) -> FailureOr<std::optional<plan::StageExchange>> {
    FailureOr<Operation *> op = programs[stage].advance();
    if (failed(op))
      return failure();
    current[stage] = *op;
    if (!*op)
      return std::optional<plan::StageExchange>();
    std::optional<plan::StageExchange> exchange = exchangeOf(*op, ops[stage].getAxis().value_or(""), programs.size());
    exchange->where = "in " + programs[stage].where();
    return exchange;
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

} // namespace dtcc::spmd
