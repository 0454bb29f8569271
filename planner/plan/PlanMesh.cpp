//===- PlanMesh.cpp - From a Parallelism to a mesh, and back
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/plan/Plan.h"

namespace dtcc::plan {

Plan makeDefaultPlan(const Parallelism &parallelism) {
  Plan plan;
  auto add = [&](const char *name, int64_t size, std::initializer_list<Axes *> uses) {
    plan.mesh.axes.push_back({name, size, false});
    for (Axes *axes : uses)
      axes->push_back(name);
  };
  plan.mesh.axes = {{"mb", parallelism.microbatches, true}};
  plan.batchAxes = {"mb"};
  if (parallelism.pp > 1) {
    add("pp", parallelism.pp, {});
    plan.pipeline = PipelinePlan{"pp", parallelism.scheduleName(), {}, {}};
  }
  const int64_t dp = parallelism.meshDp(), groups = parallelism.groups;
  if (groups > 1)
    add("dp.0", groups, {&plan.batchAxes});
  add(groups > 1 ? "dp.1" : "dp", dp / groups, {&plan.batchAxes, &plan.flatAxes});
  const bool hasExpertAxis = parallelism.ep > 1 && !parallelism.foldsExperts();
  if (hasExpertAxis)
    add("ep", parallelism.ep, {&plan.batchAxes});
  if (parallelism.cp > 1)
    add("cp", parallelism.cp, {&plan.sequenceAxes, &plan.flatAxes});
  if (hasExpertAxis)
    plan.flatAxes.push_back("ep");
  add("tp", parallelism.tp, {});
  plan.sequenceParallel = parallelism.sequenceParallel;
  plan.stationaryWeights = parallelism.stationaryWeights;
  plan.zero = parallelism.zero;
  plan.recompute = parallelism.recompute;
  plan.offload = parallelism.offload;
  plan.gradients = parallelism.gradients;
  return plan;
}

MeshSizes meshSizesOf(const Mesh &mesh) {
  MeshSizes sizes;
  for (const spmd::MeshAxis &axis : mesh.axes)
    if (std::optional<int64_t> *size = sizes.find(llvm::StringRef(axis.name).split('.').first); size && !axis.time)
      *size = size->value_or(1) * axis.size;
  if (const spmd::MeshAxis *outer = mesh.find("dp.0"); outer && mesh.find("dp.1"))
    sizes.groups = outer->size;
  return sizes;
}

Parallelism parallelismOf(const Plan &plan) {
  MeshSizes sizes = meshSizesOf(plan.mesh);
  sizes.dp = sizes.dp.value_or(1);
  Parallelism parallelism;
  parallelism.setDegrees(sizes);
  parallelism.microbatches = plan.mesh.slots();
  parallelism.zero = int(plan.zero);
  parallelism.recompute = plan.recompute;
  parallelism.offload = plan.offload;
  parallelism.gradients = plan.gradients;
  parallelism.sequenceParallel = plan.sequenceParallel;
  parallelism.stationaryWeights = plan.stationaryWeights;
  if (plan.pipeline) {
    // Formulas take actions that no schedule names for those of 1F1B.
    auto named = cost::parseSchedule(plan.pipeline->schedule)
                     .value_or(cost::NamedSchedule{cost::PipelineKind::OneForwardOneBackward, 1});
    parallelism.schedule = named.kind;
    parallelism.virtualStages = named.virtualStages;
  }
  return parallelism;
}

} // namespace dtcc::plan
