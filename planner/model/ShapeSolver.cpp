//===- ShapeSolver.cpp - The stages of a shape within memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/ShapeSolver.h"
#include "planner/problem/StageBound.h"

namespace dtcc::spmd {

using plan::Parallelism;

std::vector<uint32_t> ShapeSolver::commonModes() const {
  const GraphFacts &facts = kinds.first().facts;
  std::vector<uint32_t> modes;
  if (!facts.request.recompute && !facts.request.given)
    for (uint32_t mode = 0; mode < facts.modes().size(); ++mode)
      modes.push_back(mode);
  return modes;
}

plan::StageSolution ShapeSolver::solveIn(std::optional<uint32_t> only, const Parallelism &shape,
                                         std::optional<double> bytes) const {
  /// How often less memory is tried.
  constexpr int kTries = 4;
  DeviceKind &first = kinds.first();
  plan::StageProblem problem = kinds.problem(shape, only);
  if (bytes)
    for (plan::DeviceClass &each : problem.classes)
      each.memoryBytes = *bytes;
  plan::StageSolver solver(problem);
  auto solve = [&] {
    plan::StageSolution found = solver.solve();
    if (only)
      std::fill(found.modes.begin(), found.modes.end(), *only);
    return found;
  };
  plan::StageSolution found = solve();
  // On heterogeneous devices each stage has the memory of its kind, and the problem's estimate is all there is.
  if (shape.pp == 1 || kinds.isMixed())
    return found;
  double usable = problem.classes[0].memoryBytes, lowerBound = found.lowerBound;
  if (problem.isDealt)
    lowerBound = std::min(lowerBound, plan::closeBound(problem));
  for (int tries = 0; !found.isInfeasible(); ++tries) {
    double most = 0, estimated = 0;
    for (const plan::MemoryParts &memory : first.problems.memoryByRank(shape, problem, found))
      most = std::max(most, memory.total());
    for (const plan::StageSolution::Stage &stage : found.stages)
      estimated = std::max(estimated, stage.bytes);
    if (most <= usable)
      break;
    if (tries == kTries)
      return {};
    // The limit falls by as much as this solution holds more than the problem knew.
    problem.classes[0].memoryBytes = std::min(0.999 * problem.classes[0].memoryBytes, usable * estimated / most);
    found = solve();
  }
  // No solution within the memory that there is takes less than the first.
  found.lowerBound = std::min(found.lowerBound, lowerBound);
  if (problem.isDealt && !found.isInfeasible())
    found.seconds = first.problems.secondsAsDealt(shape, problem, found);
  return found;
}

plan::StageSolution ShapeSolver::solve(const Parallelism &shape, std::optional<double> bytes) const {
  plan::StageSolution found = solveIn(std::nullopt, shape, bytes);
  if (found.isInfeasible())
    for (plan::StageSolution &other : alike(shape, bytes, plan::kNever))
      if (found.isInfeasible() || other.seconds < found.seconds)
        found = std::move(other);
  // Where weight gradients are apart, blocks that are all in one mode wait at fewer micro-batches than a mixture. The
  // bound of a mixture is none of theirs.
  if (hasWeightsApart(shape))
    for (uint32_t mode : commonModes())
      found.lowerBound = std::min(found.lowerBound, plan::closeBound(kinds.problem(shape, mode)));
  return found;
}

std::vector<plan::StageSolution> ShapeSolver::alike(const Parallelism &shape, std::optional<double> bytes,
                                                    double below) const {
  std::vector<plan::StageSolution> found;
  for (uint32_t mode : commonModes())
    if (plan::closeBound(kinds.problem(shape, mode)) < below)
      if (plan::StageSolution other = solveIn(mode, shape, bytes); !other.isInfeasible())
        found.push_back(std::move(other));
  return found;
}

} // namespace dtcc::spmd
