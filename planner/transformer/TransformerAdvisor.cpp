//===- TransformerAdvisor.cpp - Searches again for explanations of a transformer
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/transformer/TransformerAdvisor.h"
#include "planner/transformer/MemoryTable.h"
#include <algorithm>
#include <limits>

namespace dtcc::plan {

/// The problem with memory enough for everything: what is fastest, and how it is cut best.
static TransformerProblem unbounded(TransformerProblem problem) {
  problem.device.memoryBytes *= 1e6;
  return problem;
}

PlanReport TransformerAdvisor::price(const TransformerProblem &problem, const Parallelism &shape,
                                     bool recompute) const {
  TransformerProblem wide = unbounded(problem);
  ShapePlan plan;
  plan.shape = shape;
  plan.stages = TransformerPricer(wide).solve(shape);
  const bool lacksHostMemory = plan.stages.isInfeasible();
  if (lacksHostMemory) {
    wide.host.memoryBytes = std::numeric_limits<double>::max();
    plan.stages = TransformerPricer(wide).solve(shape);
  }
  // The embedding and the head have nothing to compute again. What the user holds stays.
  for (size_t block = 1; !problem.recompute && block + 1 < plan.stages.modes.size(); ++block)
    plan.stages.modes[block] = recompute;
  TransformerPricer pricer(wide);
  PlanReport report = describe(problem, pricer, plan);
  report.fits &= !lacksHostMemory;
  return report;
}

std::optional<PlanReport> TransformerAdvisor::best(const Restriction &restriction) {
  TransformerProblem problem = given;
  ShapeSpace within = space;
  if (restriction.batch)
    problem.batch = restriction.batch;
  if (restriction.devices) {
    problem.devices = restriction.devices;
    within = shapeSpaceOf(problem, space, given);
    // A rank that shares with none does as in stage 0, whatever the stage.
    if (restriction.devices == 1)
      within.zero = {0};
  }
  within.batch = problem.batch;
  auto only = [](std::vector<int64_t> &sizes, bool allowed) {
    if (!allowed)
      sizes = {1};
  };
  only(within.tp, restriction.tensor);
  only(within.cp, restriction.context);
  only(within.pp, restriction.pipeline);
  if (restriction.zero)
    within.zero = {*restriction.zero};
  if (restriction.mesh) {
    const Parallelism &mesh = *restriction.mesh;
    within.tp = {mesh.tp};
    within.cp = {mesh.cp};
    within.ep = {mesh.ep};
    within.pp = {mesh.pp};
    within.hostOptimizer = {mesh.offload.optimizer};
    within.dp = mesh.meshDp();
    within.groups = mesh.groups;
    within.zero = {mesh.zero};
    within.microbatches = mesh.microbatches;
    if (mesh.schedule != PipelineKind::None && !restriction.microbatches)
      within.schedules = {mesh.schedule};
  }
  if (restriction.microbatches)
    within.microbatches = restriction.microbatches;
  if (restriction.mesh && restriction.recompute)
    return price(problem, *restriction.mesh, *restriction.recompute);
  ShapeList shapes = enumerateShapes(within);
  TransformerPricer pricer(problem);
  ShapeResult result = searchBest(shapes, pricer);
  if (!result.plans.empty())
    return describe(problem, pricer, result.plans[0]);
  if (restriction.mustFit)
    return std::nullopt;
  std::optional<PlanReport> least;
  for (const Parallelism &shape : shapes) {
    // Less at once needs less.
    if (shape.microbatches * shape.dp != problem.batch && !within.microbatches)
      continue;
    PlanReport plan = price(problem, shape, /*recompute=*/true);
    if (!least || plan.memory.total() < least->memory.total())
      least = std::move(plan);
  }
  // The cut for the least time may not be that for the least memory.
  if (least)
    least->fits = false;
  return least;
}

std::vector<PlanReport> TransformerAdvisor::fasterOnes(const PlanReport &than, size_t most) {
  TransformerPricer pricer(unbounded(given));
  std::vector<PlanReport> plans;
  for (const ShapePlan &plan : searchShapes(enumerateShapes(space), pricer, 20).plans) {
    if (plan.seconds >= than.seconds || plans.size() == most)
      break;
    if (PlanReport report = describe(given, pricer, plan); !report.fits)
      plans.push_back(std::move(report));
  }
  return plans;
}

std::optional<int64_t> TransformerAdvisor::fewest() {
  std::optional<FewestDevices> found = fewestDevices(given, space);
  return found ? std::optional(found->devices) : std::nullopt;
}

} // namespace dtcc::plan
