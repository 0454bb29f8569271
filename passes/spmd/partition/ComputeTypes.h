//===- ComputeTypes.h - In which type the readers of a state want it
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mixed precision casts parameters where data meets them. If all that is ever read of a
// state is such a cast, possibly of its transpose or of a part of it, the narrow type is
// the state's compute type: it may be stored and moved in it, in half the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_PARTITION_COMPUTETYPES_H
#define DTCC_PASSES_SPMD_PARTITION_COMPUTETYPES_H

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace dtcc::spmd {

/// Whether the op computes nothing of its one operand: its results are that operand's cells in other places.
bool onlyMovesCells(mlir::Operation *op);

/// How a state is read in its compute type.
struct NarrowReads {
  mlir::FloatType type;
  /// The reads, what moves their cells, and the casts behind these.
  llvm::SmallVector<graph::ReadOp> reads;
  llvm::SmallVector<mlir::Operation *> moves;
  llvm::SmallVector<graph::CastOp> casts;
};

/// The parameters of one float type that `step`, distributed or not, reads in one narrower type alone, by symbol.
llvm::MapVector<llvm::StringRef, NarrowReads> findNarrowReads(mlir::ModuleOp module, mlir::func::FuncOp step);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_PARTITION_COMPUTETYPES_H
