//===- PaddedPrediction.h - Predictions that padding would falsify
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_SPMD_LAYOUT_PADDEDPREDICTION_H
#define DTCC_PASSES_SPMD_LAYOUT_PADDEDPREDICTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dtcc::spmd {

/// Removes the prediction of an evaluation (passes/graph/Evaluation.h) from `step` if its ops reduce a factor that
/// `isPadded`: padded positions are not known to count for nothing there. A step without its prediction trains and
/// evaluates as before.
void dropPaddedPrediction(mlir::func::FuncOp step, llvm::function_ref<bool(mlir::Operation *, size_t factor)> isPadded);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_PADDEDPREDICTION_H
