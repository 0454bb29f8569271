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

/// The memory and work of orthogonalizing a bucket's states, all of them matrices, one after the other.
struct OrthogonalWork {
  /// The most bytes of a matrix.
  int64_t bytes = 0;
  /// FLOP of the products of one step of Newton and Schulz on all of them: 4 s^2 l + 2 s^3 of a matrix with the shorter
  /// side s and the longer side l.
  double flopsOfStep = 0;
};

/// `op`: any op in the module of the states.
OrthogonalWork orthogonalWork(mlir::Operation *op, mlir::FlatSymbolRefAttr bucket, OrthogonalizeOn device);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_COMMANDS_ORTHOGONALWORK_H
