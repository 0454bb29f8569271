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
#include "passes/spmd/reshard/PriceMoves.h"
#include "planner/model/GraphFacts.h"
#include "planner/model/PriceBlocks.h"
#include "llvm/ADT/Hashing.h"
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <unordered_map>

namespace dtcc::spmd {

/// A step placed for one way to split it. Repeated blocks have the placement of their representative.
struct PlacedStep {
  plan::Plan plan;
  bool possible = false;
  /// Whether the placement is proven to cost least.
  bool proven = true;
  /// Prices by the exchange of attentions.
  std::map<SequenceExchange, const BlockPrices *> prices;
};

/// The priced blocks of a placed step, for a number of samples.
struct PricedStep {
  /// False if attentions cannot exchange positions so, or if a block alone needs more memory than a device has.
  bool possible = true;
  /// An exchange of positions that moves the same bytes and was priced before, if there is one. Its prices hold here
  /// too.
  std::optional<SequenceExchange> sameAs;
  /// Exchanges between positions.
  SequenceOutcome sequence;
  /// Memory by type of blocks.
  std::vector<BlockMemory> memory;
  /// Work by type of blocks, with the exchanges of attentions and experts, if it was asked for
  /// (PlacementCache::worksOf).
  std::optional<std::vector<BlockWork>> works;
  /// Seconds that a step takes once, by type of blocks, experts apart.
  std::vector<double> once;
  /// Passes of a repeated block that a host issues.
  double hostPasses = 1;
  /// The seconds of one layer for each type of blocks and each mode that is allowed (PlacementCache::layersOf), twice:
  /// with and without the gathers of stage 3 beside kernels and hosts.
  std::vector<cost::PricedLayers> passes;
};

/// Threads may ask at once for shapes that were prepared, since only the first answer for a shape changes the cache.
/// A shape that was not prepared is placed and priced when it is asked for, by the thread alone that made the cache.
class PlacementCache {
public:
  /// With `first`, takes over the placements of another device kind.
  explicit PlacementCache(const GraphFacts &facts, PlacementCache *first = nullptr)
      : facts(facts), first(first), table(facts.input, facts.values), sites(facts.input) {}

  using IsCandidate = llvm::function_ref<bool(const plan::Parallelism &)>;
  /// Places the step for the shapes that are candidates, on all threads. Shapes of a family have the same blocks: if
  /// the one with the fewest stages has too many for the model, all have.
  void place(const plan::ShapeList &shapes, IsCandidate isCandidate);
  /// Does the same and prices the blocks.
  void prepare(const plan::ShapeList &shapes, IsCandidate isCandidate);
  /// Whether the shape has stationary weights and is placed as it is without them. False if only one was placed.
  bool gathersNoWeights(const plan::Parallelism &shape) const;
  const PlacedStep &placedFor(const plan::Parallelism &shape);
  bool isPossible(const plan::Parallelism &shape);
  /// The share of the forward pass's operations that tp splits.
  double splitByTensor(const plan::Parallelism &shape);
  /// The exchange under which a prepared shape is the same plan, if it was prepared beside it.
  std::optional<SequenceExchange> sameAs(const plan::Parallelism &shape) const;
  /// For the samples of a micro-batch of the shape.
  const PricedStep &pricedFor(const plan::Parallelism &shape);
  /// The work of each type of blocks of a shape that was priced, op by op. A search prices some ten thousand steps and
  /// simulates some hundred: the work of these is computed a second time when it is asked for, by any thread.
  const std::vector<BlockWork> &worksOf(const plan::Parallelism &shape);
  /// One layer for each type of blocks and each mode that is allowed.
  std::vector<cost::Layer> layersOf(const plan::Parallelism &shape);

  /// Number of splits of the model that were placed, and of those whose placement is not proven best.
  struct Counts {
    size_t all = 0, unproven = 0;
  };
  Counts counts() const;
  /// The first message about a split that cannot be placed. It may be emitted once more.
  mlir::LogicalResult emitRefusal();
  /// Frees the prices of all shapes, and gives their memory back to the system. Those of a shape that is asked for
  /// again are computed once more.
  void forgetPrices();
  bool hasRefusal() const { return refusal != nullptr; }

private:
  /// tp, cp, ep, sequence parallelism, stationary weights.
  using Split = std::tuple<int64_t, int64_t, int64_t, bool, bool>;
  static Split splitOf(const plan::Parallelism &shape) {
    return {shape.tp, shape.cp, shape.ep, shape.sequenceParallel, shape.stationaryWeights};
  }
  PlacedStep &findPlaced(const plan::Parallelism &shape);
  /// Does numbered work, and keeps the first message about it.
  void onAllThreads(size_t count, llvm::function_ref<void(size_t)> work);
  void place(const plan::Parallelism &shape, PlacedStep &placed);
  /// Places representative blocks. `share`: their matrices are to be split, even where that is not the fastest. True if
  /// the placement is proven best.
  mlir::FailureOr<bool> solve(plan::Plan &plan, bool share);
  mlir::LogicalResult tryToPlace(const plan::Parallelism &shape, PlacedStep &placed);
  /// The plan of a split for the samples of the shape.
  plan::Plan planFor(const plan::Parallelism &shape, const PlacedStep &placed) const;
  /// Prices of reshards on the mesh of a plan: of values among the ranks of the model, and of values between
  /// positions. They are large, so they live as long as one split is priced.
  struct Reshards {
    Reshards(const plan::Plan &plan, const cost::Machine &machine)
        : values(plan.mesh, secondsOfMoves(plan.mesh, machine)),
          positions(plan.mesh, secondsOfMoves(plan.mesh, machine)) {}
    /// Takes the mesh of another plan of the same split.
    void resize(const plan::Plan &plan, const cost::Machine &machine) {
      for (ReshardPrices *each : {&values, &positions})
        each->resize(plan.mesh, secondsOfMoves(plan.mesh, machine));
    }
    ReshardPrices values, positions;
  };
  void findExchange(const plan::Parallelism &shape, const plan::Plan &plan, Reshards &reshards, SequenceTotals &totals,
                    PricedStep &local);
  void price(const plan::Parallelism &shape, const plan::Plan &plan, PlacedStep &placed, Reshards &reshards,
             PricedStep &local);
  /// The costs of each type of blocks, with the exchanges of attentions and experts.
  std::vector<BlockCost> costsOf(const plan::Plan &plan, PlacedStep &placed, Reshards &reshards,
                                 const PricedStep &local);
  std::vector<cost::LayerInModes> layersOf(llvm::ArrayRef<BlockWork> works, const PricedStep &local) const;
  bool isTooLarge(const PricedStep &local) const;
  PricedStep &findPriced(const plan::Parallelism &shape);
  /// Whether the calling thread may add a shape to the cache.
  bool mayAdd() const { return std::this_thread::get_id() == owner; }
  /// The layouts of a placement are those of all splits that place the model so. On all threads.
  const BlockPrices &pricesOf(plan::Plan plan, SequenceExchange exchange);

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
  std::mutex laying, working;
  using LocalKey = std::tuple<Split, SequenceExchange, int64_t>;
  LocalKey keyOf(const plan::Parallelism &shape, SequenceExchange exchange) const {
    return {splitOf(shape), exchange, facts.localSamples(shape)};
  }
  LocalKey keyOf(const plan::Parallelism &shape) const { return keyOf(shape, shape.exchange); }
  struct LocalHash {
    size_t operator()(const LocalKey &key) const { return llvm::hash_value(key); }
  };
  /// A search asks for the prices of millions of shapes.
  std::unordered_map<LocalKey, PricedStep, LocalHash> locals;
  std::unique_ptr<mlir::Diagnostic> refusal;
  const std::thread::id owner = std::this_thread::get_id();
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_PLACEMENTCACHE_H
