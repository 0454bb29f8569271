//===- PackedExperts.h - Expert layers on as many rows as there is room for
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DTCC_PASSES_SPMD_PARTITION_PACKEDEXPERTS_H
#define DTCC_PASSES_SPMD_PARTITION_PACKEDEXPERTS_H

#include "dialects/spmd/Spmd.h"
#include "passes/spmd/layout/Placement.h"

namespace dtcc::spmd {

/// The local form of an op of an expert layer whose rows have a bound (--moe-capacity): it works on the rows that its
/// dispatch_rows packs, one pick each. Nothing if `op` is not such an op.
std::optional<llvm::SmallVector<mlir::Value>> emitPackedExperts(mlir::OpBuilder &builder, mlir::Operation *op,
                                                                const FactorMap &map, const Placement &placement,
                                                                llvm::ArrayRef<mlir::Value> operands,
                                                                llvm::ArrayRef<mlir::Type> types);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_PACKEDEXPERTS_H
