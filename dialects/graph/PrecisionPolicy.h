//===- PrecisionPolicy.h - The float types of values, by the ops that give or read them -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_PRECISIONPOLICY_H
#define DTCC_DIALECTS_GRAPH_PRECISIONPOLICY_H

#include "dialects/graph/Precision.h"
#include "mlir/IR/Value.h"

namespace dtcc::graph {

/// The policy of `op`: that of its interface, or the one of ops without it.
Precision operandPrecision(mlir::Operation *op, unsigned operand);
Precision resultPrecision(mlir::Operation *op, unsigned result);

/// Whether `value` is a float of less than 32 bits.
bool isHalf(mlir::Value value);

/// Makes `value` an f32 in place if the op that gives it sums in f32 anyway, which saves
/// a rounding. The caller knows that no reader minds. False if it cannot.
bool widenInPlace(mlir::Value value);

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_PRECISIONPOLICY_H
