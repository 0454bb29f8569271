//===- OrthogonalWork.h - Memory and work of Muon's matrices -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_COMMANDS_ORTHOGONALWORK_H
#define DTCC_PASSES_EXEC_COMMANDS_ORTHOGONALWORK_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "runtime/abi/OrthogonalizeWorkspace.h"

namespace dtcc::exec {

/// The work of the rank that has the most of orthogonalizing a bucket's states, all of them matrices. A rank
/// orthogonalizes each matrix of which its share has cells, so a matrix of several shares is the work of several ranks.
struct OrthogonalWork {
  /// FLOP of the products of one step of Newton and Schulz.
  double flopsOfStep = 0;
  struct Matrix {
    int64_t rows = 0, columns = 0;
  };
  llvm::SmallVector<Matrix> matrices;
};

/// `op`: any op in the module of the states. `share`: cells of the bucket that a rank updates.
OrthogonalWork orthogonalWork(mlir::Operation *op, mlir::FlatSymbolRefAttr bucket, int64_t share);

/// The memory that the largest matrix of a bucket takes, in bytes.
int64_t orthogonalBytes(mlir::Operation *op, mlir::FlatSymbolRefAttr bucket, OrthogonalizeOn device);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_ORTHOGONALWORK_H
