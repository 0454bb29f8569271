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

/// Emits an spmd.dispatch_rows or spmd.combine_rows of a step on local tensors.
mlir::Value emitRows(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value x, mlir::Value ids, mlir::Type local);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_DISPATCHEXPERTS_H
