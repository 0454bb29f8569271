//===- ShapeSolver.h - The stages of a shape within memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solves the stage problem of a shape (planner/problem/StageProblem.h). The problem knows the memory of a rank
// approximately where a rank has several stages or weight gradients are apart: then a solution that holds more than the
// devices have is solved again with a lower limit.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_SHAPESOLVER_H
#define DTCC_PLANNER_MODEL_SHAPESOLVER_H

#include "planner/model/DeviceKinds.h"

namespace dtcc::spmd {

class ShapeSolver {
public:
  explicit ShapeSolver(const DeviceKinds &kinds) : kinds(kinds) {}

  /// The fastest solution found whose blocks may recompute in any mode each, or where none fits, all in one mode.
  /// `bytes`: the limit for a rank; absent: what its device allows.
  plan::StageSolution solve(const plan::Parallelism &shape, std::optional<double> bytes = std::nullopt) const;
  /// Solutions whose blocks all recompute alike, among those that may take less than `below` seconds. Their stages may
  /// differ from those of a mixture that happens to recompute alike: the problem of one mode breaks ties by itself.
  std::vector<plan::StageSolution> alike(const plan::Parallelism &shape, std::optional<double> bytes,
                                         double below) const;
  /// Modes that all blocks may have. Empty if the user fixed the mode.
  std::vector<uint32_t> commonModes() const;

private:
  plan::StageSolution solveIn(std::optional<uint32_t> only, const plan::Parallelism &shape,
                              std::optional<double> bytes) const;

  const DeviceKinds &kinds;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_SHAPESOLVER_H
