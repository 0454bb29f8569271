//===- GraphReport.cpp - The report of a search over a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/tables/GraphReport.h"

using namespace mlir;
using namespace dtcc;

plan::PlanShape dtcc::shapeOf(const plan::Plan &plan) {
  plan::PlanShape shape;
  struct Row {
    StringRef name;
    int64_t plan::PlanShape::*size;
  };
  static constexpr Row rows[] = {{"dp", &plan::PlanShape::dp},
                                 {"tp", &plan::PlanShape::tp},
                                 {"cp", &plan::PlanShape::cp},
                                 {"ep", &plan::PlanShape::ep},
                                 {"pp", &plan::PlanShape::pp}};
  for (const spmd::MeshAxis &axis : plan.mesh.axes)
    for (const Row &row : rows)
      if (StringRef(axis.name).split('.').first == row.name)
        shape.*row.size *= axis.size;
  shape.dp *= shape.ep;
  shape.microbatches = plan.mesh.slots();
  shape.zero = int(plan.zero);
  shape.sequenceParallel = plan.sequenceParallel;
  shape.hostOptimizer = plan.offload.optimizer;
  if (plan.pipeline) {
    // A file's own actions have no name; by the formulas they are as 1F1B.
    auto named = cost::parseSchedule(plan.pipeline->schedule)
                     .value_or(cost::NamedSchedule{cost::PipelineKind::OneForwardOneBackward, 1});
    shape.schedule = named.kind;
    shape.virtualStages = named.virtualStages;
  }
  return shape;
}
