//===- ModelWork.h - How much a training step computes by its definition
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_STEP_MODELWORK_H
#define DTCC_PLANNER_STEP_MODELWORK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dtcc::spmd {

/// Returns the floating-point operations of a differentiated step on whole tensors: those of products, recurrent layers
/// and attention, forward and backward, each once, whatever a plan computes again. Over seconds and the peak of all
/// devices this is the model FLOP/s utilisation (Chowdhery et al. 2022, PaLM, appendix B). Of causal attention the half
/// counts that is not masked, and experts count for the tokens that pick them.
double modelFlops(mlir::func::FuncOp step);

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_STEP_MODELWORK_H
