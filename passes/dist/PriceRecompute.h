//===- PriceRecompute.h - What recomputation does to a step's time and memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_DIST_PRICERECOMPUTE_H
#define DTCC_PASSES_DIST_PRICERECOMPUTE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/plan/Plan.h"

namespace dtcc::dist {

/// Times as many bytes of activations at the peak, times as much work.
struct RecomputeEffect {
  plan::Recompute mode = plan::Recompute::None;
  double bytes = 1, work = 1;
};

/// The effect of `mode`, or of all modes, the cheapest first: measured on copies of the
/// differentiated `step` that do it.
llvm::SmallVector<RecomputeEffect> recomputeEffects(mlir::func::FuncOp step, std::optional<plan::Recompute> mode);

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_PRICERECOMPUTE_H
