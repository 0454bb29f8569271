//===- PlaceExperts.cpp - Which ranks hold which experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/placement/PlaceExperts.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/Bytes.h"
#include "passes/spmd/reshard/PriceMoves.h"
#include "planner/placement/PlanEntries.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;

namespace dtcc::spmd {

/// The plan's entry of a forward op, made if need be; entries of others may move.
static plan::OpPlan &entryOf(Operation *op, plan::Plan &plan) {
  int64_t origin = graph::getOrigin(op).value_or(-1);
  auto entry = llvm::find_if(plan.ops, [&](const plan::OpPlan &each) { return each.origin == origin; });
  if (entry != plan.ops.end())
    return *entry;
  return plan.ops.emplace_back(emptyEntry(op));
}

static void shareOut(Operation *op, int64_t factor, plan::Plan &plan) {
  Axes &axes = entryOf(op, plan).factors[factor];
  // The weights of two layers may be cast once.
  if (!contains(axes, kExpertAxis))
    axes.insert(axes.begin(), kExpertAxis);
}

std::optional<ExpertExchange> parseExpertExchange(StringRef text) {
  return llvm::StringSwitch<std::optional<ExpertExchange>>(text)
      .Case("auto", ExpertExchange::Cheaper)
      .Case("gather", ExpertExchange::Gather)
      .Case("alltoall", ExpertExchange::AllToAll)
      .Default(std::nullopt);
}

static double wholeBytesOf(Value value) { return double(getBytes(cast<ShapedType>(value.getType()))); }

namespace {
/// Seconds of one layer and micro-batch, forward and backward: rows there and back, twice.
struct ExchangeCost {
  double gather = 0, dispatch = 0;

  ExchangeCost(graph::ExpertsOp layer, const plan::Plan &plan, const cost::Machine &machine, int64_t size) {
    double ranks = double(size), picks = double(cast<ShapedType>(layer.getIds().getType()).getShape().back());
    double parts = double(plan.mesh.product(plan.batchAxes) * plan.mesh.product(plan.sequenceAxes));
    double rows = wholeBytesOf(layer.getX()) / parts,
           perToken = (wholeBytesOf(layer.getIds()) + wholeBytesOf(layer.getWeights())) / parts;
    double reached = 1 - std::pow(1 - 1 / ranks, picks);
    double all = (ranks - 1) * rows, few = (ranks - 1) * perToken;
    cost::Group group = groupOf({kExpertAxis}, plan.mesh);
    gather = 4 * machine.secondsForSent(all, group) + 2 * machine.secondsForSent(few, group);
    dispatch = 4 * machine.secondsForSent(all * reached, group) + 2 * machine.secondsForSent(few, group);
    if (picks >= ranks)
      dispatch = std::max(dispatch, gather);
  }
};
} // namespace

/// Seconds of a step; `write` is called for each layer, with its factor of experts and whether its tokens are
/// dispatched.
static FailureOr<double>
exchangeTokens(func::FuncOp step, ArrayRef<Operation *> layers, const plan::Plan &plan, const cost::Machine &machine,
               ExpertExchange exchange,
               llvm::function_ref<void(graph::ExpertsOp layer, int64_t factor, bool dispatch)> write) {
  double seconds = 0;
  const MeshAxis *axis = plan.mesh.find(kExpertAxis);
  if (!axis || axis->size == 1)
    return seconds;
  if (layers.empty()) {
    if (!step.getOps<graph::TopKOp>().empty())
      return step.emitError(
                 "picks by top_k, but has no layer that is recognised as a mixture of experts for the axis ep "
                 "(which layers are: docs/limits.md): leave that axis out, got: ep=")
             << axis->size;
    return step.emitError("has no mixture of experts for the axis ep: leave that axis out, got: ep=") << axis->size;
  }
  // Most layers are alike, and a search asks about some ten thousand plans: a layer of the same types as the one before
  // has the same factor and cost.
  Operation *before = nullptr;
  int64_t factor = 0;
  bool dispatch = false;
  double ofLayer = 0;
  for (Operation *op : layers) {
    auto layer = cast<graph::ExpertsOp>(op);
    if (!before || op->getOperandTypes() != before->getOperandTypes()) {
      FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
      factor = map.operands[3][0];
      if (map.factors[factor].size < axis->size)
        return layer.emitError("needs at least one expert a rank of ep=")
               << axis->size << ", got: " << map.factors[factor].size;
      ExchangeCost cost(layer, plan, machine, axis->size);
      dispatch =
          exchange == ExpertExchange::AllToAll || (exchange == ExpertExchange::Cheaper && cost.dispatch < cost.gather);
      ofLayer = double(plan.mesh.slots()) * (dispatch ? cost.dispatch : cost.gather);
    }
    before = op;
    write(layer, factor, dispatch);
    seconds += ofLayer;
  }
  return seconds;
}

/// Shares the layer's experts out.
static void shareExperts(graph::ExpertsOp layer, int64_t factor, bool dispatch, plan::Plan &plan) {
  shareOut(layer, factor, plan);
  entryOf(layer, plan).dispatch = dispatch;
  // States without a layout of their own lie as the layer wants them.
  for (Value weights : {layer.getWIn(), layer.getWOut()}) {
    // Casts of the weights are split like the weights.
    for (graph::CastOp cast; (cast = weights.getDefiningOp<graph::CastOp>()); weights = cast.getX())
      shareOut(cast, cast.getFactorMap().operands[0][0], plan);
    auto read = weights.getDefiningOp<graph::ReadOp>();
    if (!read)
      continue;
    for (plan::StatePlan &planned : plan.states)
      // Another layer may share the weights, and have shared them out.
      if (planned.name == read.getState() && planned.layout && !contains((*planned.layout)[0], kExpertAxis))
        (*planned.layout)[0].insert((*planned.layout)[0].begin(), kExpertAxis);
  }
}

SmallVector<Operation *> expertLayers(func::FuncOp step) {
  SmallVector<Operation *> layers;
  for (auto layer : step.getOps<graph::ExpertsOp>())
    layers.push_back(layer);
  return layers;
}

FailureOr<double> secondsOfExperts(func::FuncOp step, ArrayRef<Operation *> layers, const plan::Plan &plan,
                                   const cost::Machine &machine, ExpertExchange exchange) {
  return exchangeTokens(step, layers, plan, machine, exchange, [](graph::ExpertsOp, int64_t, bool) {});
}

FailureOr<double> placeExperts(func::FuncOp step, plan::Plan &plan, const cost::Machine &machine,
                               ExpertExchange exchange, double capacity) {
  auto write = [&](graph::ExpertsOp layer, int64_t factor, bool dispatch) {
    shareExperts(layer, factor, dispatch, plan);
    if (dispatch && capacity > 0)
      entryOf(layer, plan).capacity = capacity;
  };
  FailureOr<double> seconds = exchangeTokens(step, expertLayers(step), plan, machine, exchange, write);
  if (succeeded(seconds))
    sortEntries(plan);
  return seconds;
}

} // namespace dtcc::spmd
