//===- PriceRecompute.cpp - What recomputation does to a step's time and memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/dist/PriceRecompute.h"
#include "dialects/graph/Graph.h"
#include "passes/graph/Recompute.h"

using namespace mlir;

namespace dtcc::dist {

static double flopsOf(func::FuncOp step) {
  double flops = 0;
  for (Operation &op : step.front()) {
    auto work = dyn_cast<WorkOpInterface>(op);
    auto factored = dyn_cast<FactorOpInterface>(op);
    if (!work || !factored)
      continue;
    SmallVector<int64_t> sizes;
    for (const Factor &factor : factored.getFactorMap().factors)
      sizes.push_back(factor.size);
    flops += work.getFlops(sizes);
  }
  return flops;
}

/// Measured on a copy of the step that does it.
static RecomputeEffect measureRecompute(func::FuncOp step, plan::Recompute mode) {
  RecomputeEffect effect{mode};
  if (mode == plan::Recompute::None)
    return effect;
  auto bytesOf = [](Value value) {
    auto type = cast<ShapedType>(value.getType());
    bool isStates = llvm::any_of(value.getUsers(), [](Operation *user) { return isa<graph::UpdateOp>(user); });
    return isStates ? 0.0 : double(type.getNumElements()) * double(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  };
  func::FuncOp copy = step.clone();
  graph::applyRecompute(copy, graph::decideRecompute(copy, mode));
  effect.bytes = graph::peakBytes(copy, bytesOf) / std::max(1.0, graph::peakBytes(step, bytesOf));
  effect.work = flopsOf(copy) / std::max(1.0, flopsOf(step));
  copy.erase();
  return effect;
}

SmallVector<RecomputeEffect> recomputeEffects(func::FuncOp step, std::optional<plan::Recompute> mode) {
  if (mode)
    return {measureRecompute(step, *mode)};
  return {measureRecompute(step, plan::Recompute::None), measureRecompute(step, plan::Recompute::Selective),
          measureRecompute(step, plan::Recompute::Full)};
}

} // namespace dtcc::dist
