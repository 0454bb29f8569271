//===- ExpandGathers.h - A gather as an embedding
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With the indexed dimension first, what is gathered from is a table, and the rows of
// tables have a library op on every device.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LOCAL_EXPANDGATHERS_H
#define DTCC_PASSES_EXEC_LOCAL_EXPANDGATHERS_H

#include "mlir/IR/PatternMatch.h"

namespace dtcc::exec {

/// The patterns for graph.gather.
void addGatherPatterns(mlir::RewritePatternSet &patterns);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_EXPANDGATHERS_H
