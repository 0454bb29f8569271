//===- SplitLayouts.cpp - How ops lie when the model is split over some axes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/placement/SplitLayouts.h"

using namespace mlir;

namespace dtcc::spmd {

/// The axes that neither count micro-batches nor split samples or positions.
static Axes modelAxesOf(const plan::Plan &plan) {
  Axes axes;
  for (const MeshAxis &axis : plan.mesh.axes)
    if (axis.size > 1 && !axis.time && !contains(plan.batchAxes, axis.name) && !contains(plan.sequenceAxes, axis.name))
      axes.push_back(axis.name);
  return axes;
}

SplitLayouts::SplitLayouts(const plan::Plan &plan, const cost::Machine &machine, bool share)
    : axes(modelAxesOf(plan)), group(plan.mesh.product(axes)), share(share && !axes.empty()),
      machine(this->share ? machine.withoutLatency() : machine), moves(plan.mesh, this->machine) {}

const PlannedOp &SplitLayouts::plannedOf(Operation *op) {
  auto known = planned.find(op);
  return known == planned.end() ? planned.try_emplace(op, op).first->second : known->second;
}

Placement SplitLayouts::placementOf(Operation *op, int64_t candidate) {
  return plannedOf(op).place([&](int64_t factor) { return factor == candidate ? axes : Axes(); });
}

std::optional<OpLayouts> layoutsIn(const FactorMap &map, const Placement &placement) {
  llvm::Expected<OpLayouts> layouts = project(map, placement);
  if (!layouts) {
    llvm::consumeError(layouts.takeError());
    return std::nullopt;
  }
  return std::move(*layouts);
}

const std::optional<OpLayouts> &SplitLayouts::layoutsOf(Operation *op, int64_t candidate) {
  auto [known, isNew] = layouts.try_emplace({op, candidate});
  if (isNew)
    known->second = layoutsIn(plannedOf(op).map, placementOf(op, candidate));
  return known->second;
}

} // namespace dtcc::spmd
