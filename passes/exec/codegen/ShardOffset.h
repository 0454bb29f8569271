//===- ShardOffset.h - Where a rank's part of an index starts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_CODEGEN_SHARDOFFSET_H
#define DTCC_PASSES_EXEC_CODEGEN_SHARDOFFSET_H

#include "dialects/spmd/Layout.h"
#include "mlir/IR/Builders.h"

namespace dtcc::exec {

/// Emits where this rank's part of the cells of `op` starts in the whole tensor: per split
/// dimension the number of the part (the coordinates of its axes, outermost first),
/// times its extent, times the stride in the whole. Null if it starts at 0. `op` is an
/// iota, or says `offset_axes` and `global_shape`; `coordinates` points to the rank's
/// coordinates, one i64 an axis of the mesh. Fails with a message without a mesh.
mlir::FailureOr<mlir::Value> shardOffset(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value coordinates,
                                         const spmd::Mesh *mesh);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_CODEGEN_SHARDOFFSET_H
