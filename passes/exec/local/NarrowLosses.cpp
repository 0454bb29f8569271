//===- NarrowLosses.cpp - Gradients of logits in halves
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient is computed in f32 either way; only where it is rounded changes.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "passes/exec/Passes.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_NARROWLOSSES
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

struct NarrowLosses : impl::NarrowLossesBase<NarrowLosses> {
  void runOnOperation() override {
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
