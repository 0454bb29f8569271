//===- ExpandIntegers.h - Sums, extremes and running sums of integers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels reduce floats. Integers that are reduced are counts, positions and masks: few cells,
// but each must be exact. They are combined pairwise, in as many cell-by-cell steps as the
// length has bits, on every device alike.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LOCAL_EXPANDINTEGERS_H
#define DTCC_PASSES_EXEC_LOCAL_EXPANDINTEGERS_H

#include "mlir/IR/PatternMatch.h"

namespace dtcc::exec {

/// The patterns for graph.reduce of integers and booleans, and for graph.cumsum.
void addIntegerPatterns(mlir::RewritePatternSet &patterns);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_EXPANDINTEGERS_H
