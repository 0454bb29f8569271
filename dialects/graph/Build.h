//===- Build.h - Short names for building graph ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients and rewrites use these names, so that a formula in code reads as a formula.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_BUILD_H
#define DTCC_DIALECTS_GRAPH_BUILD_H

#include "dialects/graph/Graph.h"
#include "mlir/IR/Builders.h"

namespace dtcc::graph {

/// A builder at a place.
class Build {
public:
  Build(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// A constant of the shape of `like` whose cells are all `value`.
  mlir::Value splat(mlir::Value like, double value) const;
  mlir::Value splat(mlir::Type type, double value) const;
  mlir::Value add(mlir::Value x, mlir::Value y) const;
  mlir::Value sub(mlir::Value x, mlir::Value y) const;
  /// Drops factors known to be 1.
  mlir::Value mul(mlir::Value x, mlir::Value y) const;
  mlir::Value mul(mlir::Value x, double factor) const;
  mlir::Value div(mlir::Value x, mlir::Value y) const;
  mlir::Value neg(mlir::Value x) const;
  /// x, of floats, to a constant power: by products and roots for the exponents for which PyTorch does so, else by
  /// graph.pow. A root of -0 is -0, and one of -infinity NaN, as in PyTorch.
  mlir::Value power(mlir::Value x, double exponent) const;
  mlir::Value compare(Predicate predicate, mlir::Value x, mlir::Value y) const;
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) const;
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> dims) const;
  /// Repeats x to `type`; `dims` says which of the result's dimensions x has.
  mlir::Value broadcast(mlir::Value x, mlir::Type type, llvm::ArrayRef<int64_t> dims) const;
  /// The identity permutation builds nothing.
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation) const;
  /// To another element type; nothing is built if x has it.
  mlir::Value cast(mlir::Value x, mlir::Type element) const;
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// `type` with another shape.
mlir::RankedTensorType withShape(mlir::Type type, llvm::ArrayRef<int64_t> shape);
/// The value of all cells, if `value` is a constant whose cells are equal.
std::optional<double> splatValue(mlir::Value value);
/// Whether Build::power needs no graph.pow for the exponent.
bool isSimplePower(double exponent);

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_BUILD_H
