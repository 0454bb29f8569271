//===- MakePlan.cpp - The plan that a program is compiled by
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/MakePlan.h"
#include "compiler/console/ErrorStream.h"
#include "compiler/console/StatusLine.h"
#include "compiler/planning/ConfirmPlans.h"
#include "compiler/planning/PlanFile.h"
#include "dialects/graph/Graph.h"
#include "planner/placement/SequencePlacement.h"
#include "planner/placement/WholeOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace dtcc;

/// A bound of rows needs experts, and binds those that a plan splits over ep alone.
static LogicalResult checkExpertOptions(ModuleOp module, const Options &options) {
  bool bounds = options.moeCapacity >= 0, found = !bounds && options.moeDispatch == "auto";
  module.walk([&](graph::ExpertsOp) { found = true; });
  return found ? success()
               : wrong(Twine(bounds ? "--moe-capacity bounds the rows"
                                    : "--moe-dispatch says how tokens reach the ranks") +
                       " of experts, and the model has none: leave it out");
}
static void noteCapacity(ModuleOp module, const plan::Plan &plan) {
  if (llvm::none_of(plan.ops, [](const plan::OpPlan &op) { return op.capacity.has_value(); }))
    module.emitRemark(
        "--moe-capacity bounds nothing: the plan splits no experts over ep, and a rank has only its own rows");
}

/// Names options that hold a part of the plan and change nothing under it. A plan for one of several worlds may well
/// have no ranks to which they apply.
static void noteOptionsWithoutEffect(ModuleOp module, const Options &options, const plan::Plan &plan) {
  if (!options.worlds.empty())
    return;
  auto changesNothing = [&](const Twine &option, const char *why) {
    module.emitRemark("--") << option << " changes nothing: " << why;
  };
  if (options.zero > 0 && plan.withoutUnitAxes(plan.flatAxes).empty())
    changesNothing("zero=" + Twine(options.zero), "the plan has no ranks that hold the same parameters");
  const bool splitsPositions = !plan.withoutUnitAxes(plan.sequenceAxes).empty();
  if (options.cpAttention != "auto" && !splitsPositions)
    changesNothing("cp-attention=" + options.cpAttention, "the plan splits no positions over cp");
  if (options.cpOrder != "auto" && !splitsPositions)
    changesNothing("cp-order=" + options.cpOrder, "the plan splits no positions over cp");
  if (options.moeDispatch != "auto" && llvm::none_of(plan.ops, [](const plan::OpPlan &op) { return op.dispatch; }))
    changesNothing("moe-dispatch=" + options.moeDispatch, "the plan splits no experts over ep");
}

FailureOr<MadePlan> dtcc::makePlan(ModuleOp module, const Options &options) {
  if (failed(checkExpertOptions(module, options)))
    return failure();
  FailureOr<PlanRequest> request = resolvePlanRequest(options);
  if (failed(request))
    return failure();
  if (!options.plan.empty()) {
    std::optional<int64_t> ranks = ranksOfThisMachine(options);
    if (!ranks) {
      FailureOr<cost::Cluster> cluster = clusterOf(options);
      if (failed(cluster))
        return failure();
      ranks = cluster->devices();
    }
    FailureOr<plan::Plan> plan = readPlanFile(module, options, *request);
    if (failed(plan))
      return failure();
    if (*ranks != 0 && *ranks != plan->mesh.ranks())
      return wrong(llvm::formatv("{0}: the plan must be for the {1} ranks of --cluster={2}, got: {3}", options.plan,
                                 *ranks, options.cluster, plan->mesh.ranks()));
    if (options.moeCapacity >= 0)
      noteCapacity(module, *plan);
    noteOptionsWithoutEffect(module, options, *plan);
    return MadePlan{std::move(*plan), {}};
  }
  FailureOr<SearchResult> result = searchBest(module, options, *request);
  if (failed(result) || failed(confirmPlans(module, options, *result)))
    return failure();
  if (options.verbose) {
    for (const plan::PassedPlan &passed : result->report.passed)
      messageStream() << "passed over " << passed.shape.str() << ": " << passed.why << '\n';
    for (const plan::PlanReport &plan : result->report.plans)
      if (plan.estimatedParts)
        messageStream() << llvm::formatv("compiled {0}: forecast at {1:f3} s a step\n", plan.shape.str(), plan.seconds);
  }
  plan::Plan plan = result->plan(0);
  if (request->exchange == plan::SequenceExchange::Ring)
    spmd::noteGathers(module, plan);
  if (request->mesh.tp)
    spmd::noteWholeOps(module, plan);
  if (options.moeCapacity >= 0)
    noteCapacity(module, plan);
  noteOptionsWithoutEffect(module, options, plan);
  return MadePlan{std::move(plan), std::move(result->lowered)};
}
