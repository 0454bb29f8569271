//===- PlacementCache.h - Placements of a step, each solved once
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A placement depends on how the model is split. Prices of blocks and kernels also depend on the samples of a
// micro-batch. Thousands of shapes therefore share a few hundred placements and prices, and the rest of the work for a
// shape is arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_PLACEMENTCACHE_H
#define DTCC_PLANNER_MODEL_PLACEMENTCACHE_H

#include "mlir/IR/Diagnostics.h"
#include "planner/model/GraphFacts.h"
#include "planner/model/PriceBlocks.h"
#include <list>
#include <map>
#include <mutex>

namespace dtcc::spmd {

/// A step placed for one way to split it. Repeated blocks have the placement of their representative.
struct PlacedStep {
  plan::Plan plan;
  bool possible = false;
  /// Whether the placement is proven to cost least.
  bool proven = true;
  const BlockPrices *prices = nullptr;
  /// Of values among the ranks of the model; between positions.
  std::unique_ptr<ReshardPrices> reshards, exchanges;
};

/// Its blocks, for so many samples.
struct PricedStep {
  /// By type of blocks.
  std::vector<BlockCost> costs;
  /// By type of blocks, what a step takes once; experts apart.
  std::vector<double> once;
  /// All but the layers and what a shape says.
  cost::StepProblem step;
  /// Of every type of blocks one for each mode that is allowed; kernels and hosts, as gathers under stage 3 run beside
  /// them or not.
  std::vector<cost::Layer> layers;
  std::vector<cost::PricedLayers> passes;
};

class PlacementCache {
public:
  /// With `first`, takes over the placements of another device kind.
  explicit PlacementCache(const GraphFacts &facts, PlacementCache *first = nullptr)
      : facts(facts), first(first), table(facts.input, facts.values), sites(facts.input) {}

  /// Places the step for all of the shapes and prices its blocks, on all threads.
  void prepare(llvm::ArrayRef<const plan::PlanShape *> shapes);
  const PlacedStep &placedFor(const plan::PlanShape &shape);
  /// For the samples of a micro-batch of the shape.
  const PricedStep &pricedFor(const plan::PlanShape &shape);

  /// Number of splits of the model that were placed, and of those whose placement is not proven best.
  struct Counts {
    size_t all = 0, unproven = 0;
  };
  Counts counts() const;
  /// What was said of a split that cannot be placed, the first time; it is said once more.
  mlir::LogicalResult emitRefusal();
  bool hasRefusal() const { return refusal != nullptr; }

private:
  /// tp, cp, ep, sequence parallelism.
  using Split = std::tuple<int64_t, int64_t, int64_t, bool>;
  static Split splitOf(const plan::PlanShape &shape) { return {shape.tp, shape.cp, shape.ep, shape.sequenceParallel}; }
  PlacedStep &findPlaced(const plan::PlanShape &shape);
  void place(const plan::PlanShape &shape, PlacedStep &placed);
  mlir::LogicalResult tryToPlace(const plan::PlanShape &shape, PlacedStep &placed);
  void price(const plan::PlanShape &shape, PlacedStep &placed, PricedStep &local);
  /// The layouts of a placement are those of all splits that place the model so. On all threads.
  const BlockPrices &pricesOf(plan::Plan plan, int64_t logitsBytes, SequenceExchange exchange);

  const GraphFacts &facts;
  PlacementCache *first;
  BlockTable table;
  SequenceSites sites;
  std::map<Split, PlacedStep> splits;
  struct Laid {
    Laid(plan::Plan plan, SequenceExchange exchange) : plan(std::move(plan)), exchange(exchange) {}
    plan::Plan plan;
    SequenceExchange exchange;
    std::once_flag made;
    std::optional<BlockPrices> prices;
  };
  std::list<Laid> laid;
  std::mutex laying;
  std::map<std::pair<Split, int64_t>, PricedStep> locals;
  std::unique_ptr<mlir::Diagnostic> refusal;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_PLACEMENTCACHE_H
