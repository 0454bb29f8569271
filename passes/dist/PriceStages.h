//===- PriceStages.h - What a ZeRO stage costs in time and memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_DIST_PRICESTAGES_H
#define DTCC_PASSES_DIST_PRICESTAGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/cost/Machine.h"
#include "passes/dist/StateTable.h"

namespace dtcc::dist {

/// The units of a step before it is distributed, as fractions of its parameters.
struct UnitSizes {
  double units = 1;
  /// The largest unit, and the largest pair of neighbours: one in use, one gathered ahead.
  double largest = 1, largestPair = 1;
};
UnitSizes unitSizes(mlir::ModuleOp module, mlir::func::FuncOp step);

/// What data parallelism over `ranks` ranks adds to a placement.
struct StagePrice {
  /// Of reducing gradients and gathering parameters: 2 P (n-1)/n sent under stages 0 and
  /// 1, (m + 1) P under 2, 3 m P under 3, with m micro-batches (ZeRO paper, section 7),
  /// each collective started once.
  double seconds = 0;
  /// Of a rank, with units in flight.
  StateBytes bytes;
};
StagePrice priceStage(int64_t stage, double parameterBytes, double gradientBytes, int64_t slots, int64_t ranks,
                      int64_t microbatches, const UnitSizes &units, const cost::Machine &machine);

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_PRICESTAGES_H
