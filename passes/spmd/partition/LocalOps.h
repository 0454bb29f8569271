//===- LocalOps.h - An op on the local tensors of a rank
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_SPMD_PARTITION_LOCALOPS_H
#define DTCC_PASSES_SPMD_PARTITION_LOCALOPS_H

#include "dialects/graph/Graph.h"
#include "mlir/IR/Builders.h"
#include "passes/spmd/layout/Projection.h"

namespace dtcc::spmd {

/// Builds the local form of `op`, an op on !spmd.tensor: a clone on `operands` with
/// results of `types`, told its part; a loss over classes in its steps, with what they exchange.
llvm::SmallVector<mlir::Value> emitLocalOp(mlir::OpBuilder &builder, mlir::Operation *op, const FactorMap &map,
                                           const Placement &placement, llvm::ArrayRef<mlir::Value> operands,
                                           llvm::ArrayRef<mlir::Type> types);

/// The constant `cells` in the local type: a splat of it, or, for replicated ones, its cells with zeros as padding.
mlir::Value emitConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::ElementsAttr cells,
                         mlir::RankedTensorType type);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_LOCALOPS_H
