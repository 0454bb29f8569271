//===- RingAttention.h - Attention to keys that other ranks hold
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries, keys and values lie split by positions over the same ranks. Each rank computes
// attention of its queries to its own block of keys, then to that of the rank before, and
// so on: blocks of keys and values go around the ring, out and its log-sum-exp are merged
// part by part, and no rank ever holds more than its own block, the one it works on and the
// next (Liu, Zaharia, Abbeel 2023, arXiv 2310.01889). In the backward pass blocks go around once
// more, and the sums of their gradients go with them and come home at the end (formulas of
// FlashAttention-2, arXiv 2307.08691, from the saved log-sum-exp).
//
// Whatever attention has positions that are not as they come (zig-zag order, padding) takes
// the same form with one part: all keys.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_RINGATTENTION_H
#define DTCC_PASSES_SPMD_LAYOUT_RINGATTENTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/spmd/layout/Projection.h"
#include "planner/plan/Plan.h"

namespace dtcc::spmd {

/// Returns the reason why keys and values of this op cannot pass around a ring, or nothing if they can.
std::optional<std::string> whyNotRing(mlir::Operation *op);

/// Marks the attentions that the plan wants as rings, their gradients with them: from here on
/// their keys walk the factor of the queries. Fails with a message at an op that cannot be one.
mlir::LogicalResult markRings(mlir::func::FuncOp step, const plan::Plan &plan);

/// The local form of an attention or its gradient, in parts; nothing if `op` is another op
/// or needs no parts. As emitLocalOp (LocalOps.h).
std::optional<llvm::SmallVector<mlir::Value>> emitAttentionParts(mlir::OpBuilder &builder, mlir::Operation *op,
                                                                 const FactorMap &map, const Placement &placement,
                                                                 llvm::ArrayRef<mlir::Value> operands,
                                                                 llvm::ArrayRef<mlir::Type> types);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_RINGATTENTION_H
