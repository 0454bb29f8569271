//===- EmitMoves.h - Moves of the reshard planner as ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_SPMD_RESHARD_EMITMOVES_H
#define DTCC_PASSES_SPMD_RESHARD_EMITMOVES_H

#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Builders.h"
#include "passes/spmd/reshard/ReshardPlanner.h"

namespace dtcc::spmd {

/// Applies one move to the local tensor `x`.
mlir::Value emitMove(mlir::OpBuilder &builder, mlir::Location loc, const Move &move, mlir::Value x, const Mesh &mesh);

mlir::Value emitMoves(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Move> moves, mlir::Value x,
                      const Mesh &mesh);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_RESHARD_EMITMOVES_H
