//===- Precision.h - The float types that an op wants -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The answers of PrecisionOpInterface.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_PRECISION_H
#define DTCC_DIALECTS_GRAPH_PRECISION_H

#include "mlir/IR/Value.h"

namespace dtcc::graph {

enum class Precision {
  Follow,  // the widest type of the operands, parameters and constants not counted
  Compute, // the type that --precision names
  Wide,    // f32
};

/// The policy of `op`: that of its interface, or the one of ops without it.
Precision operandPrecision(mlir::Operation *op, unsigned operand);
Precision resultPrecision(mlir::Operation *op, unsigned result);

/// Whether `value` is a float of less than 32 bits.
bool isHalf(mlir::Value value);

/// Makes `value` an f32 in place if the op that gives it sums in f32 anyway, which saves
/// a rounding. The caller knows that no reader minds. False if it cannot.
bool widenInPlace(mlir::Value value);

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_PRECISION_H
