//===- ExpandExperts.h - Mixture of experts as grouped products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On one rank the composite is three kinds of grouped product with elementwise ops
// between, which fuse: a row that this rank's experts have no part in is zero from the
// first product on.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_LOCAL_EXPANDEXPERTS_H
#define DTCC_PASSES_EXEC_LOCAL_EXPANDEXPERTS_H

#include "mlir/IR/PatternMatch.h"

namespace dtcc::exec {

/// Patterns for graph.experts and its backward ops.
void addExpertPatterns(mlir::RewritePatternSet &patterns);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_LOCAL_EXPANDEXPERTS_H
