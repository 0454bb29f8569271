//===- RankStorage.h - What ranks store while a step runs -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buckets of all ranks of a program, beside the values of LockStep.h, and the ops that touch
// them: those of ProgramOps.td, UnitOps.td and UpdateOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_EVALUATE_RANKSTORAGE_H
#define DTCC_PASSES_SPMD_EVALUATE_RANKSTORAGE_H

#include "dialects/interfaces/OpTable.h"
#include "passes/spmd/evaluate/LockStep.h"

namespace dtcc::spmd {

struct RankStorage {
  /// The report of a step, which is equal on all ranks.
  struct Report {
    double lossSum = 0, count = 0, gradNorm = 0;
    /// Values of the evaluation behind the step, if the program has one.
    double evaluatedSum = 0, evaluatedCount = 0;
    std::vector<double> prediction = {};
    bool operator==(const Report &) const = default;
  };

  mutable mlir::ModuleOp module; // handles: their accessors are not const
  mutable ProgramOp program;
  LockStep lockStep;
  /// Per bucket, per rank: what the rank stores.
  llvm::StringMap<std::vector<std::vector<double>>> buckets = {};
  /// Whole inputs of the step, by name.
  const llvm::StringMap<HostTensor> *inputs = nullptr;
  int64_t step = 1;
  Report report = {};

  /// The bucket and offset of a state in this program; null if it holds none.
  std::pair<mlir::FlatSymbolRefAttr, int64_t> placeOf(graph::StateOp state) const;
  /// All that the ranks that share a bucket with `rank` store of it.
  std::vector<double> wholeBucket(llvm::StringRef name, int64_t rank) const;
  /// Gives `value` zeros on all ranks.
  Shards &clear(mlir::Value value);
  void forEachRank(llvm::function_ref<void(int64_t)> body) const;
};

/// Sums a bucket over its axes, in one slot. Cells that a rank does not keep become NaN.
void reduceBucket(RankStorage &storage, ReduceBucketOp op, int64_t slot);

/// The meaning of each op that touches storage, in a slot. Failure after one message.
using StorageOps = OpTable<mlir::LogicalResult, RankStorage &, int64_t>;
void addUnitOps(StorageOps &ops);
void addUpdateOps(StorageOps &ops);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_EVALUATE_RANKSTORAGE_H
