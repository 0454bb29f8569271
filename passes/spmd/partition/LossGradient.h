//===- LossGradient.h - What of the backward pass a pipeline runs beside the loss
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of the logits needs nothing from behind the loss: made in the forward phase
// of its stage, with the products that read it, logits and their gradient, the largest
// tensors of a language model, need not be kept for the backward phase, and can be made in
// chunks (exec-chunk-classifier). What is kept instead is the gradient of the classifier's
// input, of the size of one activation. Nothing is computed twice.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_PARTITION_LOSSGRADIENT_H
#define DTCC_PASSES_SPMD_PARTITION_LOSSGRADIENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace dtcc::spmd {

/// Returns the backward ops of a step with stages that run in the forward phase: from each
/// `graph.cross_entropy_grad` to the products and reductions that read it, and the ops that
/// read weight gradients among these. An op is left out if the stage would still have to keep
/// a tensor of that size, because the op reads recomputed values or values of the backward
/// pass, or belongs to another stage.
llvm::DenseSet<mlir::Operation *> findLossGradient(mlir::func::FuncOp step);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_LOSSGRADIENT_H
