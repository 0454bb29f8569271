//===- Shapes.h - Shapes and dimension lists of graph ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions on shapes that the op families share in factor maps and verifiers.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_SHAPES_H
#define DTCC_DIALECTS_GRAPH_SHAPES_H

#include "dialects/graph/Graph.h"

namespace dtcc::graph {

using Dims = llvm::SmallVector<int64_t>;

llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
int64_t rankOf(mlir::Value value);
mlir::Type elementOf(mlir::Value value);
bool isFloat(mlir::Value value);

/// [begin, end).
Dims range(int64_t begin, int64_t end);
/// The entries of `list` whose position is not in `dims`.
Dims without(llvm::ArrayRef<int64_t> list, llvm::ArrayRef<int64_t> dims);
/// The entries of `list` at `positions`.
Dims at(llvm::ArrayRef<int64_t> list, llvm::ArrayRef<int64_t> positions);
Dims concat(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Adds one factor a dimension of `value` and returns them.
Dims addFactors(FactorMap &map, mlir::Value value, FactorKind kind = FactorKind::Parallel);
/// Changes the kind and padding need of `factors`.
void setFactorKind(FactorMap &map, llvm::ArrayRef<int64_t> factors, FactorKind kind,
                   PaddingNeed padding = PaddingNeed::Any);

/// Multiplies the sizes.
double product(llvm::ArrayRef<int64_t> sizes);

/// Verifies 0 <= dim < rank; `name` is that of the attribute.
mlir::LogicalResult verifyDim(mlir::Operation *op, llvm::StringRef name, int64_t dim, int64_t rank);
/// Verifies that `dims` is strictly increasing inside [0, rank) and not empty.
mlir::LogicalResult verifyDims(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, int64_t rank);
/// Verifies that `term` of an einsum-like spec names each dimension of `value` by a letter of its own.
mlir::LogicalResult verifyTerm(mlir::Operation *op, llvm::StringRef term, llvm::StringRef what, mlir::Value value);
/// Verifies that the attribute has one entry a dimension.
mlir::LogicalResult verifyLength(mlir::Operation *op, llvm::StringRef name, size_t length, int64_t rank);
mlir::LogicalResult verifyRank(mlir::Operation *op, llvm::StringRef name, mlir::Value value, int64_t rank);
mlir::LogicalResult verifyRankAtLeast(mlir::Operation *op, llvm::StringRef name, mlir::Value value, int64_t rank);
/// Verifies that the element types of `a` and `b` are equal.
mlir::LogicalResult verifySameElement(mlir::Operation *op, mlir::Value a, mlir::Value b);
/// Verifies the same, or that both are floats and `sum` is the wider one.
mlir::LogicalResult verifySumElement(mlir::Operation *op, mlir::Value term, mlir::Value sum);

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_SHAPES_H
