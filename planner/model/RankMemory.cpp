//===- RankMemory.cpp - What ranks hold that have several stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The stage problem gives a rank of an interleaved schedule one run of blocks. In the plan it
// has several short ones, cut by time alone, and each of them keeps as many micro-batches as
// the schedule has in flight there: the first of a rank's stages more than the last. Of a
// zero-bubble schedule a stage keeps what input gradients and what weight gradients read of
// different numbers of micro-batches, where the problem has one. What a rank then holds is
// added up here, and what is too much is solved again with less.
//
//===----------------------------------------------------------------------===//

#include "planner/model/KnownPrices.h"
#include "planner/schedule/Schedule.h"

using namespace mlir;

namespace dtcc::spmd {

using plan::PlanShape;

const std::vector<int64_t> &GraphPricer::flightsOf(const PlanShape &shape) {
  // No stage has more in flight with more micro-batches than these: a rank begins its backward passes before it has
  // entered twice as many as there are ranks.
  int64_t microbatches = std::min(shape.microbatches, 3 * shape.pp);
  std::lock_guard lock(known->flying);
  std::vector<int64_t> &flights = known->flights[{shape.pp, shape.virtualStages, microbatches}];
  if (flights.empty()) {
    // Of a file: the request has one schedule, and the shapes one size.
    plan::Schedule schedule = request.actions;
    if (schedule.ranks.empty())
      schedule = llvm::cantFail(plan::makeSchedule(shape.scheduleName(), shape.pp, microbatches));
    for (int64_t stage = 0; stage < stagesOf(shape); ++stage)
      flights.push_back(schedule.peakOfStage(stage));
  }
  return flights;
}

std::vector<plan::MemoryParts> GraphPricer::memoryByRank(const PlanShape &shape, const plan::StageProblem &problem,
                                                         const plan::StageSolution &solution) {
  // Of a pipeline with one stage a rank the problem says it.
  std::vector<double> flights = problem.inFlight;
  if (hasVirtualStages(shape))
    flights.assign(flightsOf(shape).begin(), flightsOf(shape).end());
  const std::vector<BlockCost> &costs = costsOf(shape);
  std::vector<size_t> firsts = cutsOf(shape, solution);
  firsts.insert(firsts.begin(), 0);
  std::vector<plan::MemoryParts> ranks(shape.pp);
  for (size_t stage = 0; stage < firsts.size(); ++stage) {
    size_t end = stage + 1 < firsts.size() ? firsts[stage + 1] : problem.blocks.size();
    size_t rank = request.actions.ranks.empty() ? stage % ranks.size() : request.actions.rankOf(stage).value_or(0);
    plan::MemoryParts &memory = ranks[rank];
    for (size_t block = firsts[stage]; block < end; ++block) {
      const plan::BlockType &type = problem.types[problem.blocks[block]];
      const BlockCost &cost = costs[problem.blocks[block]];
      plan::MemoryParts state = stateOf(shape, cost);
      memory.parameters += state.parameters;
      memory.gradients += state.gradients;
      memory.optimizer += state.optimizer;
      memory.activations += onceBytes(shape, cost);
      uint32_t number = solution.modes[block];
      const plan::BlockMode &mode = type.modes[0][number];
      if (hasWeightsApart(shape)) {
        auto waiting = mode.hostBytes > 0 ? leftAtStage : heldAtStage;
        memory.activations += waiting(shape, cost, recomputeOf(number), int64_t(stage));
      } else {
        memory.activations += mode.heldBytes * flights[stage];
      }
      memory.host += state.host + mode.hostBytes * flights[stage];
      memory.working = std::max(memory.working, type.workingBytes + mode.workingBytes);
    }
  }
  return ranks;
}

plan::StageSolution GraphPricer::solve(const PlanShape &shape) { return solveProblem(shape, problem(shape)); }

plan::StageSolution GraphPricer::solveWithin(const PlanShape &shape, double bytes) {
  plan::StageProblem problem = this->problem(shape);
  for (plan::DeviceClass &each : problem.classes)
    each.memoryBytes = bytes;
  return solveProblem(shape, std::move(problem));
}

plan::StageSolution GraphPricer::solveProblem(const PlanShape &shape, plan::StageProblem problem) {
  /// How often less memory is tried.
  constexpr int kTries = 4;
  plan::StageSolver solver(problem);
  plan::StageSolution found = solver.solve();
  // Of several kinds of devices each stage has its own kind's memory: the problem's estimate is all there is.
  if ((!hasVirtualStages(shape) && !hasWeightsApart(shape)) || isMixed())
    return found;
  double usable = problem.classes[0].memoryBytes;
  for (int tries = 0; !found.isInfeasible(); ++tries) {
    double most = 0, estimated = 0;
    for (const plan::MemoryParts &memory : memoryByRank(shape, problem, found))
      most = std::max(most, memory.total());
    for (const plan::StageSolution::Stage &stage : found.stages)
      estimated = std::max(estimated, stage.bytes);
    if (most <= usable)
      break;
    if (tries == kTries)
      return {};
    // As much less as this one holds more than the problem knew.
    problem.classes[0].memoryBytes = std::min(0.999 * problem.classes[0].memoryBytes, usable * estimated / most);
    found = solver.solve();
  }
  return found;
}

} // namespace dtcc::spmd
