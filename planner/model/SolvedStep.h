//===- SolvedStep.h - The step of a solved shape on one device kind
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A solved shape as input of the cost model and of the simulation: the layers of each rank of the pipeline, and their
// costs once a step.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_SOLVEDSTEP_H
#define DTCC_PLANNER_MODEL_SOLVEDSTEP_H

#include "planner/model/ShapeProblems.h"
#include "planner/schedule/StepSimulation.h"

namespace dtcc::spmd {

struct SolvedStep {
  cost::StepProblem problem;
  std::vector<std::vector<size_t>> layers;
  /// Seconds once a step by rank of the pipeline, and the part of them that is exchanges.
  std::vector<double> once, exchanged;

  /// Makes the step with the blocks of each rank of the pipeline, and with the layers of each stage in order.
  static SolvedStep of(const GraphFacts &facts, PlacementCache &placements, ShapeProblems &problems,
                       const plan::Parallelism &shape, const plan::StageSolution &solution);
  plan::SimulatedStep simulated(const GraphFacts &facts) const;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_SOLVEDSTEP_H
