//===- StageBound.cpp - Lower bounds on the time of any cut into stages
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/StageBound.h"
#include <algorithm>

namespace dtcc::plan {

static constexpr double kSlack = RelaxedModes::kSlack;

double quickBound(const StageProblem &problem) {
  double sum = 0, state = 0, tail = 0, filled = 0, memory = 0, send = kNever;
  for (const DeviceClass &each : problem.classes)
    memory = std::max(memory, each.memoryBytes);
  for (uint32_t block : problem.blocks) {
    const BlockType &type = problem.types[block];
    double least = kNever;
    for (const std::vector<BlockMode> &modes : type.modes)
      for (const BlockMode &mode : modes)
        least = std::min(least, mode.seconds);
    sum += least;
    state += type.stateBytes;
    tail += type.tailSeconds;
    filled += type.filledSeconds;
    send = std::min(send, type.sendSeconds);
  }
  double stages = double(problem.stages());
  if (state > stages * memory)
    return kNever;
  // The greatest load is at least the mean.
  tail += (stages - 1) * send;
  return (problem.rounds * sum + tail + filled) / stages + problem.ramp * sum - filled;
}

RelaxedStages::RelaxedStages(const StageProblem &problem) : problem(problem) {
  for (const DeviceClass &each : problem.classes)
    memory = std::max(memory, each.memoryBytes * (1 + kSlack));
  for (const BlockType &type : problem.types) {
    std::vector<BlockMode> modes;
    for (const std::vector<BlockMode> &each : type.modes)
      modes.insert(modes.end(), each.begin(), each.end());
    relaxed.addType(modes);
    workingBytes.push_back(kNever);
    for (const BlockMode &mode : modes)
      workingBytes.back() = std::min(workingBytes.back(), type.workingBytes + mode.workingBytes);
  }
  relaxed.finish();
  for (uint32_t block : problem.blocks)
    send = std::min(send, problem.types[block].sendSeconds);
}

void RelaxedStages::clear(Run &run) const {
  run.counts.assign(problem.types.size(), 0);
  run.seconds = run.heldBytes = run.stateBytes = run.workingBytes = run.tailSeconds = 0;
}

void RelaxedStages::add(Run &run, uint32_t type) const {
  ++run.counts[type];
  run.seconds += relaxed.fastestOf(type).seconds;
  run.heldBytes += relaxed.fastestOf(type).heldBytes;
  run.workingBytes = std::max(run.workingBytes, workingBytes[type]);
  run.stateBytes += problem.types[type].stateBytes;
  run.tailSeconds += problem.types[type].tailSeconds + problem.types[type].filledSeconds;
}

double RelaxedStages::loadOf(const Run &run, size_t stage) const {
  double bytes = (memory - run.stateBytes - run.workingBytes) / problem.inFlight[stage];
  double sent = stage + 1 < problem.stages() ? send : 0;
  return problem.rounds * secondsWithin(run, bytes) + sent + run.tailSeconds;
}

bool RelaxedStages::fits(double limit) const {
  const std::vector<uint32_t> &blocks = problem.blocks;
  Run run;
  size_t from = 0;
  for (size_t stage = 0; stage < problem.stages(); ++stage) {
    // Each stage behind has a block at least.
    size_t last = blocks.size() - (problem.stages() - 1 - stage);
    clear(run);
    size_t to = from;
    for (; to < last; ++to) {
      add(run, blocks[to]);
      if (!(loadOf(run, stage) <= limit))
        break;
    }
    if (to == from)
      return false;
    from = to;
  }
  return from == blocks.size();
}

double RelaxedStages::bound() const {
  /// How near to the least limit the search for it comes, and in how many steps at most.
  constexpr double kNear = 1e-3;
  constexpr int kSteps = 64;
  Run whole;
  clear(whole);
  for (uint32_t block : problem.blocks)
    add(whole, block);
  double stages = double(problem.stages()), capacity = 0, working = kNever, most = 0;
  for (uint32_t block : problem.blocks)
    working = std::min(working, workingBytes[block]);
  // All stages together hold most where the state lies in the stages that keep the most micro-batches in flight.
  for (double each : problem.inFlight) {
    capacity += std::max(0.0, memory - working) / each;
    most = std::max(most, each);
  }
  double sum = secondsWithin(whole, capacity - whole.stateBytes / most);
  if (sum == kNever)
    return kNever;
  double low = (problem.rounds * sum + (stages - 1) * send + whole.tailSeconds) / stages;
  // No limit is as if there were none but that of memory.
  if (!fits(std::numeric_limits<double>::max()))
    return kNever;
  double high = low * (1 + kNear);
  if (!problem.isDealt && !fits(high)) {
    double step = std::max(0.25 * low, std::numeric_limits<double>::min());
    for (low = high; !fits(high = low + step); step *= 2)
      low = high;
    for (int steps = 0; steps < kSteps && high - low > kNear * low; ++steps) {
      double middle = 0.5 * (low + high);
      (fits(middle) ? high : low) = middle;
    }
  }
  return (low + problem.ramp * sum) * (1 - kSlack) - problem.filledSeconds();
}

double closeBound(const StageProblem &problem) { return RelaxedStages(problem).bound(); }

} // namespace dtcc::plan
