//===- Lifetimes.h - The last readers of values -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers the ops of a program and says where a value is read last, through views
// and yields. A value that a repeated phase reads from outside is read until that
// phase ends for the last time.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_BUFFERIZE_LIFETIMES_H
#define DTCC_PASSES_EXEC_BUFFERIZE_LIFETIMES_H

#include "dialects/spmd/Spmd.h"
#include "llvm/ADT/DenseMap.h"
#include <limits>

namespace dtcc::exec {

class Lifetimes {
public:
  explicit Lifetimes(spmd::ProgramOp program);
  int64_t position(mlir::Operation *op) const { return positions.lookup(op); }
  /// The position of the last op that reads the memory of `value`, its own if none does.
  int64_t lastUse(mlir::Value value) const;
  /// Whether the backward pass reads the memory of `value`, which the forward pass makes.
  bool waits(mlir::Value value) const { return lastUse(value) >= backward; }

private:
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  /// The position of the first op of the backward pass, recomputation among it.
  int64_t backward = std::numeric_limits<int64_t>::max();
  mutable llvm::DenseMap<mlir::Value, int64_t> lastUses;
};

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_BUFFERIZE_LIFETIMES_H
