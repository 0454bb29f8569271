//===- GraphAdvisor.cpp - Searches again for explanations of a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/GraphAdvisor.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;

/// Searches that find nothing are no errors here.
std::optional<plan::PlanReport> GraphAdvisor::search(const Options &options) {
  mlir::ModuleOp module = question.graph->module();
  mlir::ScopedDiagnosticHandler silence(module.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::FailureOr<SearchResult> result = searchPlans(module, options);
  if (failed(result))
    return std::nullopt;
  return reportOf(module, *result, options).plans.front();
}

static std::string meshOf(const plan::PlanShape &shape) {
  return llvm::formatv("dp={0},tp={1}", shape.dp, shape.tp).str();
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
    if (mesh.cp * mesh.ep * mesh.pp > 1)
      return std::nullopt;
    options.mesh = meshOf(mesh);
    options.zero = mesh.zero;
    options.microbatches = mesh.microbatches;
  } else if (!restriction.tensor) {
    // Positions and stages are given to this search, not searched.
    if (restriction.context || restriction.pipeline || !options.mesh.empty())
      return std::nullopt;
    options.mesh = "tp=1";
  } else if (!restriction.pipeline) {
    return std::nullopt;
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
  if (shape.cp * shape.ep * shape.pp > 1)
    return std::nullopt;
  Options options = question.options;
  options.mesh = meshOf(shape);
  options.zero = shape.zero;
  options.microbatches = shape.microbatches;
  options.recompute = plan::toString(plan.recompute).str();
  return search(options);
}
