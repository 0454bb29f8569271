//===- DispatchExperts.h - Tokens to the ranks that they picked
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DTCC_PASSES_SPMD_PARTITION_DISPATCHEXPERTS_H
#define DTCC_PASSES_SPMD_PARTITION_DISPATCHEXPERTS_H

#include "dialects/spmd/Spmd.h"

namespace dtcc::spmd {

/// Rows of picks that a rank has room for: the property of exchanges with a bound.
inline constexpr llvm::StringLiteral kRoomAttr = "room";

/// Emits an spmd.dispatch_rows or spmd.combine_rows of a step on local tensors.
mlir::Value emitRows(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value x, mlir::Value ids, mlir::Type local);

/// `op` if it exchanges rows of experts, else null.
mlir::Operation *asRowExchange(mlir::Operation *op);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_DISPATCHEXPERTS_H
