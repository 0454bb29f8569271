//===- LockStep.h - Runs local ops on all ranks in lock-step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_PASSES_SPMD_EVALUATE_LOCKSTEP_H
#define DTCC_PASSES_SPMD_EVALUATE_LOCKSTEP_H

#include "dialects/spmd/Spmd.h"
#include "passes/spmd/evaluate/Shards.h"
#include "llvm/ADT/DenseMap.h"

namespace dtcc::spmd {

/// Values of every rank, and the ops and collectives on them that need no storage.
class LockStep {
public:
  explicit LockStep(Mesh mesh, uint64_t seed = 0) : mesh(std::move(mesh)), seed(seed) {}

  /// Runs one op with a reference, or one collective, in slot `slot` of step `step`.
  mlir::LogicalResult run(mlir::Operation *op, int64_t slot, int64_t step);

  /// The result of a collective on tensors, on all ranks.
  Shards exchanged(CommunicationOpInterface op, int64_t slot) const;

  /// One tensor a rank.
  llvm::DenseMap<mlir::Value, Shards> values;
  const Mesh mesh;

private:
  /// In EvaluateRows.cpp: tokens to experts and back.
  Shards exchangedRows(mlir::Operation *op, const Communication &exchange) const;
  /// Fails where rows would be dropped.
  mlir::LogicalResult packPicks(mlir::Operation *op);

  uint64_t seed;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_EVALUATE_LOCKSTEP_H
