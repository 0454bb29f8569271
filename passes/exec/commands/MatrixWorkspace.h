//===- MatrixWorkspace.h - Scratch memory of Muon's matrices -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_COMMANDS_MATRIXWORKSPACE_H
#define DTCC_PASSES_EXEC_COMMANDS_MATRIXWORKSPACE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace dtcc::exec {

/// The most bytes that orthogonalizing one of a bucket's states, all of them matrices, takes at a time
/// (runtime/abi/OrthogonalizeWorkspace.h). `op`: any op in the module of the states.
int64_t matrixWorkspace(mlir::Operation *op, mlir::FlatSymbolRefAttr bucket);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_MATRIXWORKSPACE_H
