//===- ProductWidth.h - In what type an op multiplies
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_STEP_PRODUCTWIDTH_H
#define DTCC_PLANNER_STEP_PRODUCTWIDTH_H

#include "mlir/IR/Operation.h"
#include "planner/cost/Devices.h"

namespace dtcc::spmd {

/// The type of most of the real cells that an op reads: products multiply its large operands, while statistics, routing
/// weights and scales, which stay in f32, are small. Sums may be wider. Halves where it reads none.
cost::Width productWidth(mlir::Operation *op);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_STEP_PRODUCTWIDTH_H
