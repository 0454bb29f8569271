//===- BlockOrder.h - Restore the order of a block
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_EXEC_LOCAL_BLOCKORDER_H
#define DTCC_PASSES_EXEC_LOCAL_BLOCKORDER_H

#include "mlir/IR/Block.h"

namespace dtcc::exec {

/// Puts every op of a block after the ops whose results it reads, moving as little as
/// need be, and keeps the order of ops with effects. For passes that put new ops
/// where readers of their results may stand before them.
void restoreOrder(mlir::Block &block);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_BLOCKORDER_H
