//===- GraphReport.cpp - The report of a search over a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/GraphReport.h"
#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Path.h"

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
  for (const dist::MeshAxis &axis : plan.mesh.axes)
    for (const Row &row : rows)
      if (StringRef(axis.name).split('.').first == row.name)
        shape.*row.size *= axis.size;
  shape.dp *= shape.ep;
  shape.microbatches = plan.mesh.slots();
  shape.zero = int(plan.zero);
  if (plan.pipeline) {
    StringRef schedule = plan.pipeline->schedule;
    shape.virtualStages = plan::stagesPerRank(schedule).value_or(1);
    shape.schedule = schedule == "zero-bubble"             ? plan::PipelineSchedule::ZeroBubble
                     : schedule.starts_with("interleaved") ? plan::PipelineSchedule::Interleaved
                     : schedule == "gpipe"                 ? plan::PipelineSchedule::GPipe
                                                           : plan::PipelineSchedule::OneForwardOneBackward;
  }
  return shape;
}

static plan::PlanReport describe(const dist::PricedPlan &priced) {
  plan::PlanReport report;
  report.shape = shapeOf(priced.plan);
  report.parts.recompute = priced.recomputeSeconds;
  report.parts.compute = priced.placementSeconds + priced.recomputeSeconds;
  report.parts.data = priced.gradientSeconds;
  report.seconds = report.parts.total();
  report.memory = {priced.parameterBytes, priced.gradientBytes, priced.slotBytes, priced.activationBytes};
  report.fits = priced.fits;
  return report;
}

static double countParameters(ModuleOp module) {
  double sum = 0;
  for (auto state : module.getOps<graph::StateOp>())
    if (state.getRole() == graph::StateRole::parameter)
      sum += double(llvm::product_of(state.getSavedShape()));
  return sum;
}

/// The first dimension of the inputs, and the second of tokens.
static void readBatch(ModuleOp module, plan::SearchReport &report) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  for (BlockArgument argument : step.getArguments()) {
    auto type = cast<ShapedType>(argument.getType());
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role");
    if (type.getRank() > 0 && report.batch == 0)
      report.batch = type.getDimSize(0);
    if (type.getRank() == 2 && role && role.getValue() == "tokens")
      report.sequence = double(type.getDimSize(1));
  }
}

plan::SearchReport dtcc::reportOf(ModuleOp module, const SearchResult &result, const Options &options) {
  plan::SearchReport report;
  report.model = llvm::sys::path::filename(options.input).str();
  report.parameters = double(countParameters(module));
  report.cluster = options.cluster;
  report.device = "rank of this machine";
  readBatch(module, report);
  auto give = [&](StringRef name, const std::string &value) {
    if (!value.empty())
      report.given.push_back(("--" + name + "=" + value).str());
  };
  give("mesh", options.mesh);
  give("zero", options.zero >= 0 ? std::to_string(options.zero) : "");
  give("microbatches", options.microbatches > 0 ? std::to_string(options.microbatches) : "");
  report.devices = report.domain = result.machine.ranks;
  report.memoryBytes = result.machine.memoryBytes;
  report.note = "forecast by the first cost model: communication of tp and cp counts as compute";
  for (const dist::PricedPlan &priced : result.plans) {
    report.plans.push_back(describe(priced));
    report.infeasible += !priced.fits;
  }
  report.shapes = report.placed = report.plans.size();
  explainPlans(report);
  return report;
}
