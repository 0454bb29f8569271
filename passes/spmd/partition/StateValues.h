//===- StateValues.h - Values that are computed from states alone
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_PARTITION_STATEVALUES_H
#define DTCC_PASSES_SPMD_PARTITION_STATEVALUES_H

#include "mlir/IR/Operation.h"

namespace dtcc::spmd {

/// Whether `value` is computed from states alone, and from others than `own`.
bool dependsOnOtherStates(mlir::Value value, llvm::StringRef own);

/// Whether `op` computes nothing, and its one result has no fewer cells than it reads: a bias that is broadcast. Such a
/// value is cheaper to make again than to keep.
bool onlyRepeatsCells(mlir::Operation *op);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_STATEVALUES_H
