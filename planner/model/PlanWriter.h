//===- PlanWriter.h - A solved shape as a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of a search writes layouts, stages, recomputation and offload of the chosen shape in the form of
// docs/plan-format.md.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_PLANWRITER_H
#define DTCC_PLANNER_MODEL_PLANWRITER_H

#include "planner/model/ShapeProblems.h"

namespace dtcc::spmd {

class PlanWriter {
public:
  PlanWriter(const GraphFacts &facts, PlacementCache &placements, ShapeProblems &problems)
      : facts(facts), placements(placements), problems(problems) {}

  /// `devices` names the device kind of each stage, if there are several kinds.
  plan::Plan write(const plan::Parallelism &shape, const plan::StageSolution &solution,
                   std::vector<std::string> devices = {});

private:
  /// Adds the recomputation: as the mode of the plan if all blocks have one mode, else op by op.
  void addRecomputation(plan::Plan &plan, const plan::StageSolution &solution);
  /// Marks the ops whose values lie with the hosts, block by block.
  void addOffload(plan::Plan &plan, const plan::Parallelism &shape, const plan::StageSolution &solution);
  void addPipeline(plan::Plan &plan, const plan::Parallelism &shape, const plan::StageSolution &solution,
                   std::vector<std::string> devices);
  /// Lets no partial sums flow into pinned values.
  void holdSums(plan::Plan &plan) const;

  const GraphFacts &facts;
  PlacementCache &placements;
  ShapeProblems &problems;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_PLANWRITER_H
