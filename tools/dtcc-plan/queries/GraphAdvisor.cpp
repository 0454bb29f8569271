//===- GraphAdvisor.cpp - Searches again for explanations of a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/queries/GraphAdvisor.h"
#include "compiler/planning/ConfirmPlans.h"
#include "compiler/planning/LowerPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"
#include <tuple>

using namespace dtcc;
using llvm::StringRef;

/// Numbers of plans among which the best one, or the one that needs least memory, is looked for.
static constexpr size_t kKept = 20, kNearest = 1000;

/// `bind` with another batch; nothing if it names none.
static std::optional<std::string> bindBatch(StringRef bind, int64_t batch) {
  std::string text;
  bool found = false;
  llvm::SmallVector<StringRef> parts;
  bind.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    bool isBatch = part.split('=').first == "batch";
    found |= isBatch;
    text += (text.empty() ? "" : ",") + (isBatch ? "batch=" + std::to_string(batch) : part.str());
  }
  return found ? std::optional(text) : std::nullopt;
}

LoadedStep *GraphAdvisor::stepFor(int64_t other) {
  if (other == 0 || other == batch)
    return query.graph.get();
  auto [at, isNew] = others.try_emplace(other);
  if (isNew)
    if (std::optional<std::string> bind = bindBatch(query.options.bind, other)) {
      Options options = query.options;
      options.bind = *bind;
      at->second = LoadedStep::load(options, /*silent=*/true);
    }
  return at->second.get();
}

/// Searches that find nothing are no errors here.
mlir::FailureOr<SearchResult> GraphAdvisor::search(const PlanRequest &request, const SearchLimits &given,
                                                   int64_t other) {
  LoadedStep *step = stepFor(other);
  if (!step)
    return mlir::failure();
  SearchLimits limits = given;
  limits.silent = true;
  if (!limits.given)
    limits.pricers = step == query.graph.get() ? &query.pricers : nullptr;
  mlir::ModuleOp module = step->module();
  mlir::ScopedDiagnosticHandler silence(module.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  return searchPlans(module, query.options, request, limits);
}

bool GraphAdvisor::confirm(SearchResult &result) {
  mlir::ModuleOp module = query.graph->module();
  mlir::ScopedDiagnosticHandler silence(module.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  return succeeded(confirmPlans(module, query.options, result, /*silent=*/true));
}

std::optional<plan::PlanReport> GraphAdvisor::bestOf(const PlanRequest &request, SearchLimits limits, int64_t other,
                                                     bool mustFit) {
  limits.keep = 1;
  limits.bestOnly = true;
  mlir::FailureOr<SearchResult> result = search(request, limits, other);
  if (succeeded(result) && result->report.plans.front().fits)
    return std::move(result->report.plans.front());
  if (mustFit)
    return std::nullopt;
  PlanRequest least = request;
  if (!least.recompute)
    least.recompute = plan::Recompute::Full;
  limits.anyMemory = true;
  limits.keep = kNearest;
  limits.bestOnly = false;
  result = search(least, limits, other);
  if (failed(result))
    return std::nullopt;
  std::vector<plan::PlanReport> &plans = result->report.plans;
  return *std::min_element(plans.begin(), plans.end(), [](const plan::PlanReport &a, const plan::PlanReport &b) {
    return a.memory.total() < b.memory.total();
  });
}

static bool isMesh(const plan::Parallelism &shape, const plan::Parallelism &mesh) {
  return std::tie(shape.dp, shape.tp, shape.cp, shape.ep, shape.pp, shape.zero, shape.sequenceParallel,
                  shape.stationaryWeights, shape.exchange) == std::tie(mesh.dp, mesh.tp, mesh.cp, mesh.ep, mesh.pp,
                                                                       mesh.zero, mesh.sequenceParallel,
                                                                       mesh.stationaryWeights, mesh.exchange);
}

std::optional<plan::PlanReport> GraphAdvisor::best(const plan::Restriction &restriction) {
  PlanRequest request = restriction.devices ? requestFor(query.request, restriction.devices) : query.request;
  if (restriction.recompute)
    request.recompute = *restriction.recompute ? plan::Recompute::Full : plan::Recompute::None;
  SearchLimits limits;
  limits.devices = restriction.devices;
  // Axes that the user fixed stay fixed.
  bool tensor = restriction.tensor || request.mesh.tp, context = restriction.context || request.mesh.cp,
       pipeline = restriction.pipeline || request.mesh.pp;
  limits.allows = [=](const plan::Parallelism &shape) {
    if ((!tensor && shape.tp > 1) || (!context && shape.cp > 1) || (!pipeline && shape.pp > 1) ||
        (restriction.zero && shape.zero != *restriction.zero) ||
        (restriction.microbatches && shape.microbatches != *restriction.microbatches))
      return false;
    if (!restriction.mesh)
      return true;
    const plan::Parallelism &mesh = *restriction.mesh;
    return isMesh(shape, mesh) && (restriction.microbatches || (shape.microbatches == mesh.microbatches &&
                                                                shape.scheduleName() == mesh.scheduleName()));
  };
  return bestOf(request, limits, restriction.batch, restriction.mustFit);
}

std::vector<plan::PlanReport> GraphAdvisor::fasterOnes(const plan::PlanReport &than, size_t most) {
  SearchLimits limits;
  limits.anyMemory = true;
  limits.bestOnly = true;
  std::vector<plan::PlanReport> plans;
  // Most plans that are faster do not fit, so the search seldom has to be repeated for more.
  for (limits.keep = most; limits.keep <= kKept; limits.keep *= 2) {
    plans.clear();
    mlir::FailureOr<SearchResult> result = search(query.request, limits);
    if (failed(result))
      break;
    const size_t found = result->report.plans.size();
    bool allFaster = true;
    for (plan::PlanReport &plan : result->report.plans) {
      allFaster &= plan.seconds < than.seconds;
      if (allFaster && !plan.fits && plans.size() < most)
        plans.push_back(std::move(plan));
    }
    if (plans.size() == most || !allFaster || found < limits.keep)
      break;
  }
  return plans;
}

std::optional<int64_t> GraphAdvisor::fewest() {
  // With heterogeneous devices the number depends on the device kind.
  if (isThisMachine(query.options) || !query.kinds.empty())
    return std::nullopt;
  std::optional<FewestDevices> found =
      fewestDevices(query.graph->module(), query.options, query.request, 1, &query.pricers);
  return found ? std::optional(found->devices) : std::nullopt;
}

/// The request that holds all of a shape.
static PlanRequest holding(PlanRequest request, const plan::Parallelism &shape) {
  request.hold(shape);
  return request;
}

/// A shape that says nothing of attention has it as the options do.
static plan::Parallelism withExchangeOf(const PlanRequest &request, plan::Parallelism shape) {
  if (shape.cp > 1 && shape.exchange == plan::SequenceExchange::Cheaper)
    shape.exchange = request.exchange;
  return shape;
}

std::optional<plan::PlanReport> GraphAdvisor::price(const plan::Parallelism &given) {
  plan::Parallelism shape = withExchangeOf(query.request, given);
  SearchLimits limits;
  limits.keep = kKept;
  limits.allows = [&](const plan::Parallelism &other) { return other == shape; };
  for (bool anyMemory : {false, true})
    for (const PlanRequest &request : {query.request, holding(query.request, shape)}) {
      limits.anyMemory = anyMemory;
      mlir::FailureOr<SearchResult> result = search(request, limits);
      if (succeeded(result) && confirm(*result))
        return std::move(result->report.plans.front());
    }
  return std::nullopt;
}

/// Do two plans compute the same values again?
static bool isAgainAlike(const plan::Plan &a, const plan::Plan &b) {
  auto origins = [](const plan::Plan &plan) {
    std::vector<int64_t> all;
    for (const plan::OpPlan &op : plan.ops)
      if (op.recompute)
        all.push_back(op.origin);
    llvm::sort(all);
    return all;
  };
  return a.recompute == b.recompute && origins(a) == origins(b);
}

std::optional<plan::PlanReport> GraphAdvisor::priceTime(const plan::Plan &plan) {
  plan::Parallelism shape = withExchangeOf(query.request, plan::shapeOf(plan::parallelismOf(plan)));
  SearchLimits limits;
  PricerCache pricers;
  auto step = query.graph->module().lookupSymbol<mlir::func::FuncOp>("step");
  if (auto given = spmd::GivenPlacement::of(step, plan)) {
    shape.exchange = shape.cp > 1 ? given->exchange() : plan::SequenceExchange::Cheaper;
    limits.given = std::make_shared<const spmd::GivenPlacement>(std::move(*given));
    limits.pricers = &pricers;
  }
  limits.allows = [&](const plan::Parallelism &other) { return other == shape; };
  // If the plan came from a search, its offload is needed for memory. The first search may not ask for it.
  for (const PlanRequest &request : {query.request, holding(query.request, shape)}) {
    mlir::FailureOr<SearchResult> result = search(request, limits);
    if (failed(result))
      continue;
    if (isAgainAlike(result->plan(0), plan) || (confirm(*result) && isAgainAlike(result->plan(0), plan)))
      return std::move(result->report.plans.front());
  }
  limits.anyMemory = true;
  for (PlanRequest request : {query.request, holding(query.request, shape)}) {
    request.recompute = plan.recompute;
    mlir::FailureOr<SearchResult> result = search(request, limits);
    if (succeeded(result))
      return std::move(result->report.plans.front());
  }
  return std::nullopt;
}

std::optional<plan::PlanReport> GraphAdvisor::price(const plan::Plan &plan) {
  std::optional<plan::PlanReport> report = priceTime(plan);
  if (!report || report->estimated)
    return report;
  // If the plan has a program, the program's memory and time are taken.
  if (LoweredPlan lowered = lowerPlan(query.graph->module(), query.options, plan); lowered.module) {
    report->confirm(lowered.most(), lowered.separateBytes);
    if (lowered.step)
      report->forecast(*lowered.step);
    report->fits = memoryBytes <= 0 || report->memory.total() <= memoryBytes;
  }
  return report;
}
