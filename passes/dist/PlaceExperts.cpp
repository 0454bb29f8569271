//===- PlaceExperts.cpp - Which ranks hold which experts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/dist/PlaceExperts.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"

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

LogicalResult placeExperts(ModuleOp module, func::FuncOp step, plan::Plan &plan) {
  const MeshAxis *axis = plan.mesh.find(kAxis);
  if (!axis || axis->size == 1)
    return success();
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
    Axes &axes = entry->factors[factor];
    axes.insert(axes.begin(), kAxis);
    // States without a layout of their own lie as the layer wants them.
    for (Value weights : {layer.getWIn(), layer.getWOut()})
      if (graph::ReadOp read = readOf(weights))
        for (plan::StatePlan &state : plan.states)
          if (state.name == read.getState() && state.layout)
            (*state.layout)[0].insert((*state.layout)[0].begin(), kAxis);
  }
  if (!any)
    return step.emitError("has no mixture of experts for the axis ep, got: ep=") << axis->size;
  llvm::sort(plan.ops, [](const plan::OpPlan &a, const plan::OpPlan &b) { return a.origin < b.origin; });
  return success();
}

} // namespace dtcc::dist
