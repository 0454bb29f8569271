//===- KernelTraffic.h - Which values of a step pass through memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs write fewer values than a graph has: kernels are fused, products end with an
// activation, losses store what they are cast to (passes/exec/local). An estimate has no
// program yet. It foresees what these passes do to a pair of neighbours, and nothing more.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_MODEL_KERNELTRAFFIC_H
#define DTCC_PLANNER_MODEL_KERNELTRAFFIC_H

#include "planner/model/BlockTable.h"

namespace dtcc::spmd {

class KernelTraffic {
public:
  explicit KernelTraffic(const BlockTable &table) : table(table) {}

  /// The value that the kernel of `reader` reads from memory for an operand: of that and what it is a view of, the
  /// smallest. Null if the kernel has it: another op of the kernel makes it, or it is written where it is wanted.
  mlir::Value readFor(mlir::Operation *reader, unsigned operand) const;
  /// Whether an op writes its result to memory.
  bool isWritten(mlir::Value result) const;
  /// The ops that make operands of `reader` in the kernel that computes it too.
  llvm::SmallVector<mlir::Operation *> makersInKernel(mlir::Operation *reader) const;
  /// How often kernels read the operands of an op: norms of a batch want sums over all of its rows first.
  static int64_t passesOf(mlir::Operation *op);

private:
  bool staysInKernel(mlir::Value value, mlir::Operation *reader) const;
  bool areInSameKernel(mlir::Operation *maker, mlir::Operation *reader) const;

  const BlockTable &table;
};

} // namespace dtcc::spmd

#endif // DTCC_PLANNER_MODEL_KERNELTRAFFIC_H
