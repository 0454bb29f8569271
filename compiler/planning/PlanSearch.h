//===- PlanSearch.h - From the command line to a plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_COMPILER_PLANNING_PLANSEARCH_H
#define DTCC_COMPILER_PLANNING_PLANSEARCH_H

#include "compiler/options/ClusterOption.h"
#include "compiler/options/PlanRequest.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "planner/model/GraphPricer.h"
#include <functional>

namespace dtcc {

/// The result of a search, with its request.
struct SearchResult {
  cost::Machine machine;
  /// Best first, at least one.
  std::vector<plan::ShapePlan> shapes;
  /// The result for people: one report per shape.
  plan::SearchReport report;
  /// --mesh names all ranks: nothing of the mesh was searched.
  bool meshGiven = false;
  /// Memory is no limit: asked for so, or a mesh is given that does not fit.
  bool anyMemory = false;
  /// The program of the first plan, if it is confirmed (ConfirmPlans.h).
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  std::shared_ptr<spmd::GraphPricer> pricer;

  plan::Plan plan(size_t i) const { return pricer->write(shapes[i].shape, shapes[i].stages); }
};

/// The parts of a request on which the prices of a search depend, beside the model and the cluster.
struct PricerKey {
  int64_t ranks;
  bool anyMemory;
  plan::MeshSizes mesh;
  std::string schedule;
  std::optional<plan::Recompute> recompute;
  std::optional<plan::Offload> offload;
  std::optional<plan::GradientType> gradients;
  auto operator<=>(const PricerKey &) const = default;
};

/// Placements and prices of earlier searches of one model, which later searches reuse. The searches may differ in the
/// options that fix a part of the plan, and in nothing else.
using PricerCache = std::map<PricerKey, std::shared_ptr<spmd::GraphPricer>>;

/// Changes of a search beside its options.
struct SearchLimits {
  /// Whether the memory of a rank is unlimited.
  bool anyMemory = false;
  /// Whether no message is printed if no plan is found.
  bool silent = false;
  /// Number of ranks of --cluster that are used; 0: all.
  int64_t devices = 0;
  /// Number of plans that are kept: as many as are compiled at most, if the best are refused (ConfirmPlans).
  size_t keep = 48;
  /// Whether only the `keep` best by the finer model are wanted (plan::searchBest), which takes less time.
  bool bestOnly = false;
  /// Shapes that are searched, of those that the options allow; absent: all.
  std::function<bool(const plan::Parallelism &)> allows;
  PricerCache *pricers = nullptr;
  /// The placement of a plan that is priced as it stands: `allows` then takes its shape alone.
  std::shared_ptr<const spmd::GivenPlacement> given;
};

/// All plans for a differentiated module on --cluster with what the request holds, best first. Failure after one
/// message, also if nothing fits the memory unless --mesh is given whole or the limits say that it is none.
mlir::FailureOr<SearchResult> searchPlans(mlir::ModuleOp module, const Options &options, const PlanRequest &request,
                                          const SearchLimits &limits = {});

/// Gives the report of the first plan its step event by event.
void recordBest(SearchResult &result);

/// Returns `request` for another number of devices. Sizes of tp, cp, ep and pp that divide the devices are kept; the
/// size of dp follows from them.
PlanRequest requestFor(const PlanRequest &request, int64_t devices);

/// The fewest devices of --cluster's kind, at least `from`, on which some plan fits with this batch: powers of two in a
/// node, then whole nodes (plan::deviceCounts). Nothing if none of these numbers does.
struct FewestDevices {
  int64_t devices = 1;
  plan::PlanReport plan;
};
std::optional<FewestDevices> fewestDevices(mlir::ModuleOp module, const Options &options, const PlanRequest &request,
                                           int64_t from = 1, PricerCache *pricers = nullptr);

/// Calls searchPlans for a plan that will be used: with --verbose the plans are listed on stderr.
mlir::FailureOr<SearchResult> searchBest(mlir::ModuleOp module, const Options &options, const PlanRequest &request);

} // namespace dtcc

#endif // DTCC_COMPILER_PLANNING_PLANSEARCH_H
