//===- NarrowLosses.cpp - Types of what a cross entropy stores
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of logits are stored in halves where products read these. The gradient is
// computed in f32 either way; only where it is rounded changes.
//
// The logarithm of a row's sum is stored in f64. Rounded to f32, one near 32 is 1e-6 off,
// and so are all probabilities of the row: the gradient reads them as exp(logit - logarithm).
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "passes/exec/Passes.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_NARROWLOSSES
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

/// All values that hold `lse`: itself, and what phases yield of it. Nothing if another op than a gradient reads one.
static std::optional<SmallVector<Value>> placesOf(Value lse) {
  SmallVector<Value> places = {lse};
  for (size_t i = 0; i < places.size(); ++i)
    for (OpOperand &use : places[i].getUses()) {
      if (isa<graph::CrossEntropyGradOp>(use.getOwner()))
        continue;
      Operation *phase = use.getOwner()->getParentOp();
      if (!isa<spmd::YieldOp>(use.getOwner()) || phase->getNumResults() <= use.getOperandNumber())
        return std::nullopt;
      places.push_back(phase->getResult(use.getOperandNumber()));
    }
  return places;
}

static void widenLogarithm(Value lse) {
  if (lse.use_empty())
    return;
  if (std::optional<SmallVector<Value>> places = placesOf(lse))
    for (Value place : *places)
      place.setType(cast<RankedTensorType>(place.getType()).clone(Float64Type::get(place.getContext())));
}

struct NarrowLosses : impl::NarrowLossesBase<NarrowLosses> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (auto loss = dyn_cast<graph::CrossEntropyLossOp>(op))
        widenLogarithm(loss.getLse());
      if (auto loss = dyn_cast<graph::CrossEntropyOp>(op))
        widenLogarithm(loss.getLse());
    });
    SmallVector<graph::CastOp> casts;
    getOperation()->walk([&](graph::CastOp cast) {
      auto gradient = cast.getX().getDefiningOp<graph::CrossEntropyGradOp>();
      Type to = mlir::cast<ShapedType>(cast.getType()).getElementType();
      if (gradient && gradient.getDlogits().hasOneUse() && isa<BFloat16Type, Float16Type>(to))
        casts.push_back(cast);
    });
    for (graph::CastOp cast : casts) {
      cast.getX().setType(cast.getType());
      cast.replaceAllUsesWith(cast.getX());
      cast.erase();
    }
  }
};
} // namespace
} // namespace dtcc::exec
