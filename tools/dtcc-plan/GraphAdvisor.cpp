//===- GraphAdvisor.cpp - Searches again for explanations of a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/GraphAdvisor.h"
#include "compiler/Planning.h"
#include "tools/dtcc-plan/GraphReport.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;

/// Searches that find nothing are no errors here.
std::optional<plan::PlanReport> GraphAdvisor::search(const Options &options) {
  mlir::ModuleOp module = question.graph->module();
  mlir::ScopedDiagnosticHandler silence(module.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::FailureOr<SearchResult> result = searchPlans(module, options, /*anyMemory=*/false, /*silent=*/true);
  if (failed(result))
    result = searchPlans(module, options, /*anyMemory=*/true, /*silent=*/true);
  if (failed(result))
    return std::nullopt;
  return result->report.plans.front();
}

static std::string meshOf(const plan::PlanShape &shape) {
  return llvm::formatv("dp={0},tp={1},cp={2},ep={3},pp={4}", shape.dp / shape.ep, shape.tp, shape.cp, shape.ep,
                       shape.pp)
      .str();
}

std::optional<plan::PlanReport> GraphAdvisor::best(const plan::Restriction &restriction) {
  Options options = question.options;
  int64_t ranks = restriction.devices ? restriction.devices : devices;
  if (restriction.batch || batch % ranks)
    return std::nullopt;
  if (restriction.devices) {
    options.cluster = "cpu:" + std::to_string(restriction.devices);
    options.mesh.clear();
    if (restriction.devices == 1)
      options.zero = -1;
  }
  if (restriction.mesh) {
    const plan::PlanShape &mesh = *restriction.mesh;
    options.mesh = meshOf(mesh);
    options.zero = mesh.zero;
    options.microbatches = mesh.microbatches;
  } else {
    for (auto [allowed, one] :
         {std::pair(restriction.tensor, "tp=1"), {restriction.context, "cp=1"}, {restriction.pipeline, "pp=1"}})
      if (!allowed && !llvm::StringRef(options.mesh).contains(llvm::StringRef(one).take_front(3)))
        options.mesh += (options.mesh.empty() ? "" : ",") + std::string(one);
  }
  if (restriction.zero)
    options.zero = *restriction.zero;
  if (restriction.microbatches)
    options.microbatches = *restriction.microbatches;
  if (restriction.recompute)
    options.recompute = *restriction.recompute ? "full" : "none";
  return search(options);
}

std::optional<plan::PlanReport> GraphAdvisor::price(const plan::Plan &plan) {
  plan::PlanShape shape = shapeOf(plan);
  Options options = question.options;
  options.mesh = meshOf(shape);
  if (plan.pipeline && !plan.pipeline->schedule.empty())
    options.schedule = plan.pipeline->schedule;
  options.zero = shape.zero;
  options.microbatches = shape.microbatches;
  options.recompute = plan::toString(plan.recompute).str();
  return search(options);
}
