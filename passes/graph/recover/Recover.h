//===- Recover.h - Composites of decomposed exports, by family
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function looks for anchors that no exporter removes (tanh, reductions, softmax,
// halves of a vector), grows regions from them, and replaces a region whose values are
// those of a composite. What is not proven stays as it is.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_RECOVER_RECOVER_H
#define DTCC_PASSES_GRAPH_RECOVER_RECOVER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dtcc::graph {

/// silu, gelu (both forms) and relu.
void recoverActivations(mlir::func::FuncOp function);
/// layer_norm and rms_norm, with scale and bias where parameters follow.
void recoverNorms(mlir::func::FuncOp function);
/// rotary, by its linear map.
void recoverRotary(mlir::func::FuncOp function);
/// attention, with its scale, soft cap, mask predicate and grouped heads.
void recoverAttention(mlir::func::FuncOp function);
/// experts, of gathered parameters and of all experts on all tokens.
void recoverExperts(mlir::func::FuncOp function);
/// cross_entropy, of a gather on the logarithm of a softmax.
void recoverCrossEntropy(mlir::func::FuncOp function);
/// log1p and expm1, of sums of a logarithm's operand with 1 and differences of an exponential and 1.
void recoverNearOne(mlir::func::FuncOp function);

/// Erases ops that nothing reads, from the end.
void eraseDead(mlir::func::FuncOp function);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_RECOVER_RECOVER_H
