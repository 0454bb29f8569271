//===- OriginFactors.h - Which forward factor a backward factor walks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_ORIGINFACTORS_H
#define DTCC_PASSES_GRAPH_ORIGINFACTORS_H

#include "mlir/IR/Operation.h"

namespace dtcc::graph {

/// Sets the origin factors of `built`, the ops that the gradient of `op` consists of.
/// Known at the rim are the dimensions of the operands and results of `op`, of the
/// results' gradients and of the operands' gradients; inside, labels flow through the
/// factor maps of the built ops, both ways, until nothing changes.
void trackOriginFactors(mlir::Operation *op, llvm::ArrayRef<mlir::Value> resultGrads,
                        llvm::ArrayRef<mlir::Value> operandGrads, llvm::ArrayRef<mlir::Operation *> built);

/// Tracks the factors of `op` through `built`, ops that compute what `op` does in another way: `operands` and `results`
/// are the values that stand for those of `op`. A null result stands for none.
void trackFactorsOf(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands, llvm::ArrayRef<mlir::Value> results,
                    llvm::ArrayRef<mlir::Operation *> built);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_ORIGINFACTORS_H
