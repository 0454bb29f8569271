//===- TransformerReport.cpp - The report of a search over a transformer
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/transformer/TransformerReport.h"
#include "planner/transformer/Memory.h"
#include <algorithm>

namespace dtcc::plan {

PlanReport describe(const TransformerProblem &problem, TransformerPricer &pricer, const ShapePlan &plan) {
  PlanReport report;
  report.shape = plan.shape;
  report.parts = pricer.price(plan.shape, plan.stages);
  report.seconds = report.parts.total();
  cost::StateBytes state = cost::stateBytesOf(plan.shape, problem.software);
  MemoryParts parts{state.parameters, state.gradients, state.optimizer};
  parts.host = cost::hostBytes({1, 0}, plan.shape, problem.software);
  describeStages(pricer.problem(plan.shape), plan.stages, parts, report,
                 [](uint32_t, uint32_t mode) { return TransformerPricer::recomputes(mode); });
  auto reserve = [&](MemoryParts &memory) {
    memory.communicators =
        problem.software.fragments * memory.total() + cost::reserveBytes(plan.shape, problem.software);
  };
  reserve(report.memory);
  for (StageReport &stage : report.stages)
    reserve(stage.memory);
  report.fits = cost::fitsIn(report.memory.total(), problem.device);
  return report;
}

SearchReport reportOf(const TransformerProblem &problem, TransformerPricer &pricer, const ShapeResult &result,
                      size_t top, bool record) {
  SearchReport report;
  report.parameters = problem.model.parameters();
  report.device = problem.device.name;
  report.devices = problem.devices;
  report.domain = problem.fabric.domain;
  report.memoryBytes = cost::usableBytes(problem.device);
  report.batch = problem.batch;
  report.sequence = problem.model.sequence;
  report.flops = problem.model.flops() * double(problem.batch);
  report.devicePeak = problem.device.peak(problem.run.width);
  for (size_t i = 0; i < std::min(top, result.plans.size()); ++i)
    report.plans.push_back(describe(problem, pricer, result.plans[i]));
  if (record && !report.plans.empty())
    if (std::optional<cost::StepTimeline> timeline = pricer.timeline(result.plans[0].shape, result.plans[0].stages))
      report.plans[0].timeline = std::move(*timeline);
  report.lowerBound = result.lowerBound;
  report.shapes = result.shapes;
  report.placed = result.solved;
  report.infeasible = result.infeasible;
  explainPlans(report);
  return report;
}

} // namespace dtcc::plan
