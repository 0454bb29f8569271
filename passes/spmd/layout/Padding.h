//===- Padding.h - What padded cells hold
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Padding of states is zero. What it is further on follows from the ops: a linear op keeps
// zeros, gelu of zero is zero, exp of zero is not. A sum over padded cells is right only if
// they are zero, and so is the update of a padded state (rule V6). What is positive may be
// divided by: the weights of a router's picks by their sum.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_PADDING_H
#define DTCC_PASSES_SPMD_LAYOUT_PADDING_H

#include "dialects/interfaces/OpInterfaces.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace dtcc::spmd {

/// Positive cells are finite too.
enum class PaddingContent { Zero, Positive, Finite, Unknown };

class PaddingAnalysis {
public:
  /// Analyses a function on !spmd.tensor.
  explicit PaddingAnalysis(mlir::func::FuncOp step);

  /// Content of the cells past the size of a dimension. Zero if there are none.
  PaddingContent of(mlir::Value value, int64_t dim) const;
  /// Whether the sum of `op` over a padded factor sees zeros in the padding.
  bool sumsZeros(mlir::Operation *op, const FactorMap &map, int64_t factor) const;
  /// Whether the factor is padded on some operand or result.
  static bool isPadded(mlir::Operation *op, const FactorMap &map, int64_t factor);

private:
  PaddingContent transfer(mlir::Operation *op, const FactorMap &map, unsigned result, int64_t factor) const;
  /// The content of an operand along a factor, of all dimensions that walk it; nothing if none does.
  std::optional<PaddingContent> along(mlir::Operation *op, const FactorMap &map, unsigned operand,
                                      int64_t factor) const;

  llvm::DenseMap<std::pair<mlir::Value, int64_t>, PaddingContent> contents;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_PADDING_H
