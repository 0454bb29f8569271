//===- SimulatedStep.cpp - A priced step as one to simulate
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/schedule/StepSimulation.h"
#include <algorithm>
#include <cmath>

namespace dtcc::plan {

/// Actions of all ranks beyond which a step is simulated in part.
static constexpr int64_t kMostTasks = 30000;

namespace {
/// `count` of a kind of layer.
struct Run {
  size_t layer;
  double count;
};
} // namespace

/// Layers of chunk `chunk` of a rank. The first chunk of all has the embedding, the last one the head.
static std::vector<Run> layersOf(const cost::StepProblem &problem, size_t rank, int64_t chunk) {
  int64_t chunks = std::max<int64_t>(problem.parallel.virtualStages, 1);
  std::vector<Run> runs;
  for (const cost::StageLayer &part : problem.stages[rank]) {
    bool stands = problem.layers[part.layer].passes > 0;
    if (stands)
      runs.push_back({part.layer, part.count / double(chunks)});
    else if (chunk == (rank == 0 ? 0 : chunks - 1))
      runs.push_back({part.layer, part.count});
  }
  return runs;
}

static void add(SimulatedUnit &unit, const cost::UnitSeconds &seconds, double count) {
  unit.forward += count * seconds.passes.forward;
  unit.inputGradient += count * (seconds.passes.inputGradient + seconds.passes.recompute);
  unit.weightGradient += count * seconds.passes.weightGradient;
  unit.gatherForward += count * seconds.gatherForward;
  unit.gatherBackward += count * seconds.gatherBackward;
  unit.scatter += count * seconds.scatter;
}

static bool isInUnits(const std::vector<cost::UnitSeconds> &seconds) {
  return std::any_of(seconds.begin(), seconds.end(), [](const cost::UnitSeconds &each) {
    return each.gatherForward > 0 || each.gatherBackward > 0 || each.scatter > 0;
  });
}

/// The host prepares each micro-batch before its first pass and before the way back.
static void addHost(std::vector<SimulatedUnit> &units, const cost::StepProblem &problem,
                    const cost::Constants &constants, const cost::Calibration &calibration) {
  double chunks = double(std::max<int64_t>(problem.parallel.virtualStages, 1));
  double host = calibration.host * cost::hostSecondsOfMicrobatch(problem.software, constants) / (2 * chunks);
  units.front().forward += host;
  units.back().inputGradient += host;
}

/// Adds the boundary behind the last stage so far, over which its last layer sends `bytes`. The rank of the last stage
/// sends to that of the first.
static void addBoundary(SimulatedStep &step, double bytes, const cost::StepProblem &problem,
                        const cost::Constants &constants) {
  const plan::Parallelism &plan = problem.parallel;
  if (plan.pp <= 1)
    return;
  const int64_t rank = int64_t(step.stages.size() - 1) % plan.pp, stride = plan.stageStride();
  const cost::Hop hop =
      rank + 1 < plan.pp ? cost::Hop{rank * stride, stride, stride} : cost::Hop{0, rank * stride, stride};
  const bool isNear = hop.isWithin(problem.fabric.domain);
  step.boundaries.push_back({cost::Collectives(problem.fabric, constants).secondsToSend(bytes, hop),
                             isNear ? SimulatedLink::Node : SimulatedLink::Network,
                             isNear ? constants.sendLink : constants.sendNetwork});
}

/// All but the stages.
static void addRest(SimulatedStep &step, const cost::StepProblem &problem, bool inUnits,
                    const cost::Constants &constants, const cost::Calibration &calibration) {
  const plan::Parallelism &plan = problem.parallel;
  const cost::Software &software = problem.software;
  for (const auto &stage : problem.stages) {
    cost::HeldParameters parameters;
    for (const cost::StageLayer &part : stage)
      parameters.add(problem.layers[part.layer], part.count);
    cost::EndSeconds end = cost::priceEnd(problem, constants, parameters, calibration);
    step.ends.push_back({end.reduce, end.update, end.gather});
  }
  step.sendBlocks = 1 - software.sendsHidden;
  cost::Spread spread = cost::spreadOf(plan.dataGroup(), problem.fabric.domain);
  step.dataLink = spread.nodes == 1 ? SimulatedLink::Node : SimulatedLink::Network;
  step.dataShare = spread.nodes == 1 ? constants.nvlink : constants.network;
  if (problem.fabric.sharedPorts && plan.stageStride() < problem.fabric.domain)
    step.portSharers = std::clamp<int64_t>(problem.fabric.domain / plan.stageStride(), 1, plan.pp);
  step.reduceWindow = std::min(1.0, software.dataWindow);
  step.ahead = software.dataWindow > 0;
  step.contended = inUnits && step.ahead ? constants.contended : 0;
  step.hostSeconds = calibration.host * cost::hostSecondsOfStep(software, constants);
  step.straggling = cost::straggling(plan, constants);
}

SimulatedStep simulatedStepOf(const cost::StepProblem &problem, const cost::Constants &constants,
                              const cost::Calibration &calibration) {
  std::vector<cost::UnitSeconds> seconds = cost::priceUnits(problem, constants, calibration);
  int64_t chunks = std::max<int64_t>(problem.parallel.virtualStages, 1);
  bool inUnits = isInUnits(seconds);
  SimulatedStep step;
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    for (size_t rank = 0; rank < problem.stages.size(); ++rank) {
      std::vector<SimulatedUnit> units(1);
      double sent = 0;
      for (const Run &run : layersOf(problem, rank, chunk)) {
        sent = std::max(sent, problem.layers[run.layer].leavingBytes);
        // Whole layers are units; what stands before or after them goes with its neighbour.
        bool apart = inUnits && problem.layers[run.layer].passes > 0;
        int64_t count = apart ? std::max<int64_t>(1, std::llround(run.count)) : 1;
        for (int64_t i = 0; i < count; ++i) {
          if (apart && units.back().forward > 0)
            units.emplace_back();
          add(units.back(), seconds[run.layer], run.count / double(count));
        }
      }
      addHost(units, problem, constants, calibration);
      step.stages.push_back(std::move(units));
      addBoundary(step, sent, problem, constants);
    }
  addRest(step, problem, inUnits, constants, calibration);
  return step;
}

SimulatedStep simulatedStepOf(const cost::StepProblem &problem, const std::vector<std::vector<size_t>> &stages,
                              const cost::Constants &constants) {
  std::vector<cost::UnitSeconds> seconds = cost::priceUnits(problem, constants);
  bool inUnits = isInUnits(seconds);
  SimulatedStep step;
  for (const std::vector<size_t> &layers : stages) {
    std::vector<SimulatedUnit> units(1);
    for (size_t layer : layers) {
      if (inUnits && units.back().forward > 0)
        units.emplace_back();
      add(units.back(), seconds[layer], 1);
    }
    addHost(units, problem, constants, {});
    step.stages.push_back(std::move(units));
    addBoundary(step, layers.empty() ? 0 : problem.layers[layers.back()].leavingBytes, problem, constants);
  }
  addRest(step, problem, inUnits, constants, {});
  return step;
}

SimulatedStep onKinds(const std::vector<SimulatedStep> &steps, const std::vector<size_t> &kindOfRank) {
  SimulatedStep step = steps[kindOfRank[0]];
  for (size_t stage = 0; stage < step.stages.size(); ++stage)
    step.stages[stage] = steps[kindOfRank[stage % kindOfRank.size()]].stages[stage];
  for (size_t rank = 0; rank < kindOfRank.size(); ++rank)
    step.ends[rank] = steps[kindOfRank[rank]].ends[rank];
  for (const SimulatedStep &each : steps)
    for (size_t stage = 0; stage < step.boundaries.size(); ++stage)
      step.boundaries[stage].seconds = std::max(step.boundaries[stage].seconds, each.boundaries[stage].seconds);
  return step;
}

static llvm::Expected<Schedule> makeScheduleOf(const plan::Parallelism &plan, int64_t microbatches) {
  // One stage runs its passes one by one.
  cost::PipelineKind kind =
      plan.schedule == cost::PipelineKind::None ? cost::PipelineKind::OneForwardOneBackward : plan.schedule;
  if (!cost::rowOf(kind).hasProgram)
    return llvm::createStringError(std::string(cost::rowOf(kind).name) +
                                   " runs optimizers of stages at different times and has no schedule");
  return makeSchedule(cost::scheduleName(kind, plan.virtualStages), plan.pp, microbatches);
}

llvm::Expected<Schedule> scheduleOf(const plan::Parallelism &plan) { return makeScheduleOf(plan, plan.microbatches); }

llvm::Expected<cost::StepTimeline> simulate(const SimulatedStep &step, const plan::Parallelism &plan, bool record) {
  int64_t perMicrobatch = 0;
  for (const std::vector<SimulatedUnit> &units : step.stages)
    perMicrobatch += 4 * int64_t(units.size());
  // Settled: each rank has been through all it ever waits for.
  int64_t group = plan.pp, some = std::max<int64_t>(kMostTasks / perMicrobatch / group, 4) * group;
  if (record || plan.microbatches <= 2 * some) {
    llvm::Expected<Schedule> schedule = makeScheduleOf(plan, plan.microbatches);
    if (!schedule)
      return schedule.takeError();
    return simulate(step, *schedule, record);
  }
  llvm::Expected<Schedule> shorter = makeScheduleOf(plan, some), longer = makeScheduleOf(plan, some + group);
  if (!shorter || !longer)
    return llvm::joinErrors(shorter.takeError(), longer.takeError());
  double before = simulate(step, *shorter).seconds;
  cost::StepTimeline timeline = simulate(step, *longer);
  timeline.seconds += double(plan.microbatches - some - group) / double(group) * (timeline.seconds - before);
  return timeline;
}

llvm::Expected<cost::StepTimeline> simulate(const cost::StepProblem &problem, const cost::Constants &constants,
                                            const cost::Calibration &calibration, bool record) {
  return simulate(simulatedStepOf(problem, constants, calibration), problem.parallel, record);
}

} // namespace dtcc::plan
