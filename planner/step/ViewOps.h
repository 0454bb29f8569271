//===- ViewOps.h - Ops that programs spend nothing on --------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An estimate prices kernels and memory, and has no program yet. These lists foresee for which ops the program will
// have neither (passes/exec/bufferize). A transpose and a slice are views there too, but not always: they are priced.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_STEP_VIEWOPS_H
#define DTCC_PLANNER_STEP_VIEWOPS_H

#include "dialects/graph/Graph.h"

namespace dtcc::spmd {

/// Whether kernels read the results of an op where its operand lies. False for null.
inline bool isView(mlir::Operation *op) {
  return llvm::isa_and_nonnull<graph::ReshapeOp, graph::BroadcastOp, graph::UnstackOp>(op);
}

/// Whether no kernel computes an op: its results are views, or state and constants that lie in memory already.
inline bool takesNoKernel(mlir::Operation *op) {
  return isView(op) || llvm::isa_and_nonnull<graph::ReadOp, graph::ConstantOp>(op);
}

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_STEP_VIEWOPS_H
