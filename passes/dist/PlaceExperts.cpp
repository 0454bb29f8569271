//===- PlaceExperts.cpp - Which ranks hold which experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/dist/PlaceExperts.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;

namespace dtcc::dist {

static constexpr const char *kAxis = "ep";

void addExpertAxis(plan::Plan &plan, int64_t size) {
  if (size <= 1)
    return;
  // Beside the last axis of examples, before those of the model.
  size_t at = 0;
  for (size_t i = 0; i < plan.mesh.axes.size(); ++i)
    if (llvm::is_contained(plan.batchAxes, plan.mesh.axes[i].name))
      at = i + 1;
  plan.mesh.axes.insert(plan.mesh.axes.begin() + at, {kAxis, size, false});
  plan.batchAxes.push_back(kAxis);
  plan.flatAxes.push_back(kAxis);
}

/// The parameter that `weights` is, or null.
static graph::ReadOp readOf(Value weights) { return weights.getDefiningOp<graph::ReadOp>(); }

std::optional<ExpertExchange> parseExpertExchange(StringRef text) {
  return llvm::StringSwitch<std::optional<ExpertExchange>>(text)
      .Case("auto", ExpertExchange::Cheaper)
      .Case("gather", ExpertExchange::Gather)
      .Case("alltoall", ExpertExchange::AllToAll)
      .Default(std::nullopt);
}

static double bytesOf(Value value) {
  auto type = cast<ShapedType>(value.getType());
  return double(type.getNumElements()) * ((type.getElementTypeBitWidth() + 7) / 8);
}

namespace {
/// Seconds of one layer, forward and backward: rows there and back, twice.
struct ExchangeCost {
  double gather = 0, dispatch = 0;

  ExchangeCost(graph::ExpertsOp layer, const plan::Plan &plan, const cost::Machine &machine, int64_t size) {
    double ranks = double(size), picks = double(cast<ShapedType>(layer.getIds().getType()).getShape().back());
    double parts = double(plan.mesh.product(plan.batchAxes));
    double rows = bytesOf(layer.getX()) / parts,
           perToken = (bytesOf(layer.getIds()) + bytesOf(layer.getWeights())) / parts;
    double reached = 1 - std::pow(1 - 1 / ranks, picks);
    double all = (ranks - 1) * rows, few = (ranks - 1) * perToken;
    gather = 4 * machine.secondsForTransfer(all) + 2 * machine.secondsForTransfer(few);
    dispatch = 4 * machine.secondsForTransfer(all * reached) + 2 * machine.secondsForTransfer(few);
    if (picks >= ranks)
      dispatch = std::max(dispatch, gather);
  }
};
} // namespace

FailureOr<ExpertPlacement> placeExperts(ModuleOp module, func::FuncOp step, plan::Plan &plan,
                                        const cost::Machine &machine, ExpertExchange exchange) {
  ExpertPlacement result;
  const MeshAxis *axis = plan.mesh.find(kAxis);
  if (!axis || axis->size == 1)
    return result;
  bool any = false;
  for (auto layer : step.getOps<graph::ExpertsOp>()) {
    any = true;
    FactorMap map = cast<FactorOpInterface>(layer.getOperation()).getFactorMap();
    int64_t factor = map.operands[3][0];
    if (map.factors[factor].size < axis->size)
      return layer.emitError("needs at least one expert a rank of ep=")
             << axis->size << ", got: " << map.factors[factor].size;
    int64_t origin = graph::getOrigin(layer).value_or(-1);
    auto entry = llvm::find_if(plan.ops, [&](const plan::OpPlan &op) { return op.origin == origin; });
    if (entry == plan.ops.end()) {
      plan::OpPlan placed;
      placed.origin = origin;
      placed.op = layer->getName().getStringRef().str();
      plan.ops.push_back(std::move(placed));
      entry = std::prev(plan.ops.end());
    }
    // What a rank has of a state before.
    auto held = [&](Value weights, unsigned operand) {
      double parts = 1;
      for (int64_t of : map.operands[operand])
        if (auto at = entry->factors.find(of); at != entry->factors.end())
          parts *= double(plan.mesh.product(plan.withoutUnitAxes(at->second)));
      return bytesOf(weights) / parts;
    };
    std::pair<Value, double> states[] = {{layer.getWIn(), held(layer.getWIn(), 3)},
                                         {layer.getWOut(), held(layer.getWOut(), 4)}};
    Axes &axes = entry->factors[factor];
    axes.insert(axes.begin(), kAxis);
    ExchangeCost cost(layer, plan, machine, axis->size);
    entry->dispatch =
        exchange == ExpertExchange::AllToAll || (exchange == ExpertExchange::Cheaper && cost.dispatch < cost.gather);
    result.seconds += *entry->dispatch ? cost.dispatch : cost.gather;
    // States without a layout of their own lie as the layer wants them.
    for (auto [weights, before] : states) {
      graph::ReadOp read = readOf(weights);
      if (!read)
        continue;
      double saved = before * (1 - 1 / double(axis->size));
      result.savedParameters += saved;
      auto state = module.lookupSymbol<graph::StateOp>(read.getState());
      result.savedGradients += state && state.getTrainable() ? saved : 0;
      for (plan::StatePlan &planned : plan.states)
        if (planned.name == read.getState() && planned.layout)
          (*planned.layout)[0].insert((*planned.layout)[0].begin(), kAxis);
    }
  }
  if (!any)
    return step.emitError("has no mixture of experts for the axis ep, got: ep=") << axis->size;
  llvm::sort(plan.ops, [](const plan::OpPlan &a, const plan::OpPlan &b) { return a.origin < b.origin; });
  return result;
}

} // namespace dtcc::dist
