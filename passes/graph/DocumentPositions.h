//===- DocumentPositions.h - Values of positions, by document
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model computes some values of the position alone: the row of a learned embedding, cosines of rotary embedding.
// Where a window of tokens holds several documents, each sample needs these values at the positions of its tokens in
// their documents. DocumentPositions builds them: positions are looked up in tables of floats, and integers are
// computed again from the positions.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_DOCUMENTPOSITIONS_H
#define DTCC_PASSES_GRAPH_DOCUMENTPOSITIONS_H

#include "dialects/graph/Build.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>

namespace dtcc::graph {

class DocumentPositions {
public:
  /// `positions` returns the input [b, t] of positions in documents, which it adds at the first call.
  explicit DocumentPositions(std::function<mlir::Value()> positions) : positions(std::move(positions)) {}

  /// `value`, in which dimension `sample` counts samples and `position` positions, with the cells of each sample at
  /// the positions of its tokens. `value` itself, if it does not depend on the position. Null, after a message, if it
  /// cannot be built. `value` depends on no input.
  mlir::Value spread(mlir::Value value, int64_t sample, int64_t position);

  /// `value` without a dimension of samples, of which dimension `position` counts positions: the same cells with a
  /// dimension of samples in front.
  mlir::Value lookUp(mlir::Value value, int64_t position);

private:
  mlir::Value lookUpInteger(mlir::Value value, int64_t position);
  mlir::Value gather(mlir::Value value, int64_t position);
  mlir::Value repeated(mlir::Value value);
  mlir::Value counted(IotaOp iota, mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims);

  std::function<mlir::Value()> positions;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> known;
};

/// Puts dimension i of `value` in place `dims[i]` of `type`, whose other dimensions repeat it.
mlir::Value spreadInto(const Build &build, mlir::Value value, mlir::RankedTensorType type,
                       llvm::ArrayRef<int64_t> dims);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_DOCUMENTPOSITIONS_H
