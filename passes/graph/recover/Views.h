//===- Views.h - What stands under transposes, broadcasts and scalings
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Views are traced, not matched: exporters order them differently, and all that
// matters is which dimension of the base each dimension of the view reads.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_RECOVER_VIEWS_H
#define DTCC_PASSES_GRAPH_RECOVER_VIEWS_H

#include "dialects/graph/Build.h"
#include <optional>

namespace dtcc::graph {

/// value[i..] = scale * base[i at dims..].
struct View {
  mlir::Value base;
  /// Per dimension of the value that of the base, or -1 if it repeats the base.
  llvm::SmallVector<int64_t> dims;
  double scale = 1;

  /// Looks through transposes, broadcasts and, if `scalings`, products with numbers.
  static View of(mlir::Value value, bool scalings);
};

/// Whether all cells along dimension `dim` are equal, by construction.
bool isConstantAlong(mlir::Value value, int64_t dim);
/// Builds `value`, which is constant along `dim`, without that dimension.
mlir::Value dropDim(const Build &b, mlir::Value value, int64_t dim);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_RECOVER_VIEWS_H
