//===- StageProblem.cpp - Checks of the problem, the cost of a solution, the oracle
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/StageProblem.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dtcc::plan {

static bool isAmount(double value) { return value >= 0 && std::isfinite(value); }

static std::string checkType(const BlockType &type, size_t classes) {
  if (type.modes.size() != classes)
    return "a block must have modes for every class of devices";
  for (const std::vector<BlockMode> &modes : type.modes) {
    if (modes.empty() || modes.size() != type.modes.front().size())
      return "a block must have the same modes, at least one, on every class of devices";
    for (const BlockMode &mode : modes)
      if (!isAmount(mode.seconds) || !isAmount(mode.heldBytes) || !isAmount(mode.hostBytes) ||
          !isAmount(mode.workingBytes))
        return "times and bytes of a mode must be finite and not negative";
  }
  for (double value : {type.stateBytes, type.workingBytes, type.sendSeconds, type.filledSeconds, type.tailSeconds})
    if (!isAmount(value))
      return "times and bytes of a block must be finite and not negative";
  return "";
}

BlockMode keptByHost(double seconds, double bytes) { return {seconds * (1 + 1e-6), 0, bytes}; }

void StageProblem::addClasses(const StageProblem &others) {
  classes.insert(classes.end(), others.classes.begin(), others.classes.end());
  for (size_t i = 0; i < types.size(); ++i) {
    const BlockType &other = others.types[i];
    types[i].modes.insert(types[i].modes.end(), other.modes.begin(), other.modes.end());
    for (double BlockType::*most : {&BlockType::stateBytes, &BlockType::workingBytes, &BlockType::sendSeconds,
                                    &BlockType::filledSeconds, &BlockType::tailSeconds})
      types[i].*most = std::max(types[i].*most, other.*most);
  }
}

void StageProblem::takeLess(const StageProblem &other) {
  for (size_t i = 0; i < types.size(); ++i) {
    BlockType &mine = types[i];
    const BlockType &its = other.types[i];
    for (size_t each = 0; each < mine.modes.size(); ++each)
      for (size_t mode = 0; mode < mine.modes[each].size(); ++mode)
        mine.modes[each][mode].seconds = std::min(mine.modes[each][mode].seconds, its.modes[each][mode].seconds);
    for (double BlockType::*least : {&BlockType::stateBytes, &BlockType::sendSeconds, &BlockType::tailSeconds})
      mine.*least = std::min(mine.*least, its.*least);
    // The bound subtracts these seconds, so that more of them lower it.
    mine.filledSeconds = std::max(mine.filledSeconds, its.filledSeconds);
  }
  for (size_t i = 0; i < classes.size(); ++i)
    classes[i].memoryBytes = std::max(classes[i].memoryBytes, other.classes[i].memoryBytes);
  // Fewer rounds are more of the ramp, which takes longer.
  rounds = std::max(rounds, other.rounds);
  ramp = std::min(ramp, other.ramp);
}

double StageProblem::filledSeconds() const {
  double sum = 0;
  for (uint32_t block : blocks)
    sum += types[block].filledSeconds;
  return sum;
}

std::string StageProblem::check() const {
  if (stages() == 0 || stages() > blocks.size())
    return "stages must be 1 to " + std::to_string(blocks.size()) +
           " (blocks of the model), got: " + std::to_string(stages());
  int64_t places = 0;
  for (const DeviceClass &each : classes) {
    if (each.stages < 0 || !isAmount(each.memoryBytes))
      return "a class of devices must have stages and memory that are not negative";
    places += each.stages;
  }
  if (places < static_cast<int64_t>(stages()))
    return "devices must be enough for " + std::to_string(stages()) + " stages, have: " + std::to_string(places);
  for (const BlockType &type : types)
    if (std::string wrong = checkType(type, classes.size()); !wrong.empty())
      return wrong;
  for (uint32_t type : blocks)
    if (type >= types.size())
      return "a block must be of a known type, got: " + std::to_string(type);
  for (double each : inFlight)
    if (!(each > 0) || !std::isfinite(each))
      return "a stage must hold a positive number of micro-batches";
  if (!begins.empty() && (begins.size() != stages() || begins.front() != 0 || begins.back() >= blocks.size() ||
                          std::adjacent_find(begins.begin(), begins.end(), std::greater_equal<>()) != begins.end()))
    return "stages must begin at block 0 and at blocks that ascend";
  if (!isAmount(rounds) || !isAmount(ramp))
    return "rounds and ramp must be finite and not negative";
  return "";
}

double costOf(const StageProblem &problem, const StageSolution &solution) {
  if (solution.stages.size() != problem.stages() || solution.modes.size() != problem.blocks.size())
    return kNever;
  std::vector<int64_t> used(problem.classes.size());
  double longest = 0, sum = 0;
  for (size_t s = 0; s < solution.stages.size(); ++s) {
    const StageSolution::Stage &stage = solution.stages[s];
    bool isLast = s + 1 == solution.stages.size();
    size_t end = isLast ? problem.blocks.size() : solution.stages[s + 1].firstBlock;
    if ((s == 0 && stage.firstBlock != 0) || stage.firstBlock >= end || !problem.mayBegin(s, stage.firstBlock) ||
        stage.deviceClass >= used.size() || ++used[stage.deviceClass] > problem.classes[stage.deviceClass].stages)
      return kNever;
    double seconds = 0, tail = 0, state = 0, held = 0, working = 0;
    for (size_t i = stage.firstBlock; i < end; ++i) {
      const BlockType &type = problem.types[problem.blocks[i]];
      const std::vector<BlockMode> &modes = type.modes[stage.deviceClass];
      if (solution.modes[i] >= modes.size())
        return kNever;
      seconds += modes[solution.modes[i]].seconds;
      held += modes[solution.modes[i]].heldBytes;
      tail += type.tailSeconds + type.filledSeconds;
      state += type.stateBytes;
      working = std::max(working, type.workingBytes + modes[solution.modes[i]].workingBytes);
    }
    if (!isLast)
      tail += problem.types[problem.blocks[end - 1]].sendSeconds;
    // Sums in another order may differ in the last bits.
    if (state + working + held * problem.inFlight[s] > problem.classes[stage.deviceClass].memoryBytes * (1 + 1e-9))
      return kNever;
    longest = std::max(longest, problem.rounds * seconds + tail);
    sum += seconds;
  }
  return longest + problem.ramp * sum - problem.filledSeconds();
}

namespace {
/// Every assignment of modes to the blocks, and of cuts and classes to the stages.
class Enumeration {
public:
  explicit Enumeration(const StageProblem &problem) : problem(problem) {
    current.modes.assign(problem.blocks.size(), 0);
    best.seconds = kNever;
  }
  StageSolution run() {
    cut(0, 0);
    best.lowerBound = best.seconds;
    return best;
  }

private:
  void cut(size_t stage, uint32_t firstBlock) {
    if (stage == problem.stages())
      return choose(0);
    // The next stage begins after at least one block, at block 0 for the first.
    uint32_t from = stage == 0 ? 0 : firstBlock + 1,
             to = stage == 0 ? 0 : static_cast<uint32_t>(problem.blocks.size()) - 1;
    for (uint32_t at = from; at <= to; ++at)
      for (uint32_t device = 0; problem.mayBegin(stage, at) && device < problem.classes.size(); ++device) {
        current.stages.push_back({at, device, 0, 0});
        cut(stage + 1, at);
        current.stages.pop_back();
      }
  }
  void choose(size_t block) {
    if (block == problem.blocks.size()) {
      current.seconds = costOf(problem, current);
      if (current.seconds < best.seconds)
        best = current;
      return;
    }
    uint32_t modes = static_cast<uint32_t>(problem.types[problem.blocks[block]].modes.front().size());
    for (current.modes[block] = 0; current.modes[block] < modes; ++current.modes[block])
      choose(block + 1);
    current.modes[block] = 0;
  }

  const StageProblem &problem;
  StageSolution current, best;
};
} // namespace

StageSolution solveExhaustively(const StageProblem &problem) { return Enumeration(problem).run(); }

} // namespace dtcc::plan
