//===- PositionOps.h - Ops that know which positions a rank holds
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A header of its own beside Graph.h: these ops are made by one pass and read by few.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_POSITIONOPS_H
#define DTCC_DIALECTS_GRAPH_POSITIONOPS_H

#include "dialects/graph/Graph.h"

namespace dtcc::graph {

/// Discardable attributes of graph.attention and its gradient where positions are split.
/// Unit: keys and values lie like queries and go around the ring of ranks; they walk the
/// factor of the queries.
inline constexpr llvm::StringLiteral kRingAttr = "ring";
/// i64: positions stand in an order of so many chunks (runtime/abi/SequenceOrder.h).
inline constexpr llvm::StringLiteral kChunksAttr = "chunks";

/// Unit, of graph.cross_entropy and its gradient: rows that pad the positions have ignored labels.
inline constexpr llvm::StringLiteral kIgnoresPaddingAttr = "ignores_padding";

/// Whether an attention op has the operands that its mask reads, whole or in parts.
mlir::LogicalResult verifyMaskOperands(mlir::Operation *op, mlir::ValueRange operands, MaskAttr mask);

} // namespace dtcc::graph

#define GET_OP_CLASSES
#include "dialects/graph/PositionOps.h.inc"

#endif // DTCC_DIALECTS_GRAPH_POSITIONOPS_H
