//===- KnownPrices.h - What shapes of a graph have in common
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A placement depends on how the model is split, prices of blocks on that and on the examples
// of a micro-batch, kernels on no more. Thousands of shapes share what a few hundred of these
// need, and what is left for a shape is arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_KNOWNPRICES_H
#define DTCC_PLANNER_MODEL_KNOWNPRICES_H

#include "planner/model/GraphPricer.h"
#include "planner/model/PriceBlocks.h"
#include <list>
#include <mutex>

namespace dtcc::spmd {

/// A step placed for one way to split it, the first of blocks that are alike for all of them.
struct GraphPricer::Placed {
  plan::Plan plan;
  bool possible = false;
  /// Does no other placement cost less?
  bool proven = true;
  const BlockPrices *prices = nullptr;
  /// Of values among the ranks of the model; between positions.
  std::unique_ptr<ReshardPrices> reshards, exchanges;
};

/// Its blocks, for so many examples.
struct GraphPricer::Local {
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

struct GraphPricer::Known {
  Known(const PlacementInput &input, const StepValues &values) : table(input, values), sites(input) {}

  BlockTable table;
  SequenceSites sites;
  /// The layouts of a placement are those of all splits that place the model so. On all threads.
  const BlockPrices &pricesOf(plan::Plan plan, int64_t logitsBytes, SequenceExchange exchange);
  /// tp, cp, ep, sequence parallelism.
  using Split = std::tuple<int64_t, int64_t, int64_t, bool>;
  static Split splitOf(const plan::PlanShape &shape) { return {shape.tp, shape.cp, shape.ep, shape.sequenceParallel}; }
  std::map<Split, Placed> splits;
  struct Laid {
    Laid(plan::Plan plan, SequenceExchange exchange) : plan(std::move(plan)), exchange(exchange) {}
    plan::Plan plan;
    SequenceExchange exchange;
    std::once_flag made;
    std::optional<BlockPrices> prices;
  };
  std::list<Laid> laid;
  std::mutex laying;
  std::map<std::pair<Split, int64_t>, Local> locals;
  std::map<std::tuple<int, plan::PipelineSchedule, int64_t>, bool> allowed;
  /// By shape, modes and cuts.
  std::map<std::pair<std::string, std::vector<size_t>>, cost::StepSeconds> priced;
  std::mutex pricing;
  /// By ranks, virtual stages and micro-batches, of each stage of an interleaved schedule the micro-batches in flight.
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::vector<int64_t>> flights;
  std::mutex flying;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_KNOWNPRICES_H
