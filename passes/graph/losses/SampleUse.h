//===- SampleUse.h - Where samples meet in a loss
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first dimension of every argument of `@loss` counts samples, and so do dimensions that are one factor with it.
// Samples meet in an op that reduces such a dimension or otherwise reads several samples for one cell. Batch norms
// whose groups lie within those of the loss are an exception: their samples are together in every group.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_LOSSES_SAMPLEUSE_H
#define DTCC_PASSES_GRAPH_LOSSES_SAMPLEUSE_H

#include "dialects/interfaces/OpInterfaces.h"
#include "passes/graph/FactoredValues.h"
#include "llvm/ADT/DenseSet.h"

namespace dtcc::graph {

/// The kinds of values that a value is computed from.
struct SampleSource {
  /// A sample, or a number that each sample has.
  bool samples = false;
  /// A parameter or another trained state.
  bool trained = false;
  /// The result of an op in which samples meet. `mixesTrained`: one that depends on trained states too.
  bool mixes = false, mixesTrained = false;
  /// A number that tells where a sample stands in the batch.
  bool numbered = false;
};

/// The analysis of `@loss`. While it is used, ops may be added to the function, but none may change.
class SampleUse {
public:
  /// `groups`: the number of groups of samples that compute the loss each by itself.
  SampleUse(mlir::func::FuncOp function, int64_t groups);

  const SampleSource &of(mlir::Value value) const { return sources.at(value); }
  /// The dimensions of `value` that count samples.
  llvm::SmallVector<int64_t> dimsOf(mlir::Value value) const;
  /// Whether samples meet in the op that computes `value`, for this result of it.
  bool meets(mlir::Value value) const { return meeting.contains(value); }
  /// Whether samples meet there in sums alone, or not at all.
  bool meetsInSums(mlir::Value value) const;
  /// The number of samples of the batch.
  int64_t samples() const { return count; }
  /// The number of groups of samples.
  int64_t groups() const { return groupCount; }

private:
  /// The factors of `map` that count samples, given the op that it is of.
  llvm::SmallVector<int64_t> sampleFactors(mlir::Operation *op, const FactorMap &map) const;
  /// The source that all results of `op` have from its operands.
  SampleSource sourceOf(mlir::Operation *op) const;
  bool findMeeting(mlir::OpResult result) const;

  mlir::ModuleOp module;
  Factoring factoring;
  llvm::DenseSet<DimensionClasses::Id> classes;
  llvm::DenseMap<mlir::Value, SampleSource> sources;
  llvm::DenseSet<mlir::Value> meeting;
  int64_t groupCount, count = 1;
};

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_LOSSES_SAMPLEUSE_H
