//===- GroupedValues.h - Values of the whole batch, computed of each group of samples
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row i of a value is the value that the loss would have if the batch were the group of sample i:
//
//   %p: [8, 4], one row a sample            rows: %p
//   %sum = reduce sum %p [0] : [4]          rows: group_sum %p, times the groups : [8, 4]
//   %square = mul %sum, %sum : [4]          rows: mul of rows : [8, 4]
//
// A group stands for the whole batch, so a sum over its samples is multiplied by the number of groups: a sum that is
// divided by the samples of the batch becomes the mean over the group. The first dimension of all rows counts samples.
// It is the dimension of samples of the value itself, if there is one, else a new one. Rows of a group are equal. They
// cost little, because values of the whole batch are small, and are split like the samples under every plan, as the
// statistics of a batch norm are.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_LOSSES_GROUPEDVALUES_H
#define DTCC_PASSES_GRAPH_LOSSES_GROUPEDVALUES_H

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/losses/SampleUse.h"

namespace dtcc::graph {

/// Builds the rows of values of `@loss` beside these values, each once.
class GroupedValues {
public:
  explicit GroupedValues(const SampleUse &samples) : samples(samples) {}

  /// The value that replaces `value` of the whole batch: the mean over its rows, or its rows if it has a cell for each
  /// sample. Null after a message if an op that it depends on cannot be computed of a group.
  mlir::Value average(mlir::Value value);

  /// The rows of a value that is computed from samples; any other value is its own. Null if there are none.
  mlir::Value rows(mlir::Value value);
  /// The rows of an operand of an op that works cell by cell, whose operands all have `shape` then.
  mlir::Value rowsLike(const Build &b, mlir::Value operand, llvm::ArrayRef<int64_t> shape);
  /// The sum over each group of x, which has a row a sample, times the number of groups: it stands for a sum over the
  /// batch. Counts are summed in f32, which is exact up to 2^24.
  mlir::Value total(const Build &b, mlir::Value x) const;

  bool isFree(mlir::Value value) const { return !samples.of(value).samples; }
  bool meets(mlir::Value value) const { return samples.meets(value); }
  /// The dimension of samples, or -1.
  int64_t sampleDim(mlir::Value value) const;
  /// Where dimension `dim` of `value` stands in its rows.
  int64_t place(mlir::Value value, int64_t dim) const;
  /// The shape of the rows of `value`.
  Dims shapeOfRows(mlir::Value value) const;

private:
  mlir::Value makeRows(mlir::Value value);

  const SampleUse &samples;
  /// Rows by value; null for a value that has none.
  llvm::DenseMap<mlir::Value, mlir::Value> made;
  /// The first value found that cannot be computed of a group.
  mlir::Value obstacle;
};

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_LOSSES_GROUPEDVALUES_H
