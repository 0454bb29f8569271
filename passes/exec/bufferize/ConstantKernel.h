//===- ConstantKernel.h - Kernels that no op of a model asks for -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cells of a constant tensor, and a copy on the first member of a group alone, as
// bodies of graph ops: whoever generates kernels generates these.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_BUFFERIZE_CONSTANTKERNEL_H
#define DTCC_PASSES_EXEC_BUFFERIZE_CONSTANTKERNEL_H

#include "passes/exec/bufferize/Bufferizer.h"

namespace dtcc::exec {

/// Writes a constant to `to`: its bytes stand in the program. At most 64 MiB.
mlir::LogicalResult emitConstant(mlir::Operation *op, mlir::ElementsAttr value, const Place &to, Bufferizer &b);

/// Copies `from` to `to` (both dense) on member 0 of the group over `axes`, zeros elsewhere.
mlir::LogicalResult emitZeroFill(mlir::Location loc, const Place &from, const Place &to, mlir::ArrayAttr axes,
                                 Bufferizer &b);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_BUFFERIZE_CONSTANTKERNEL_H
