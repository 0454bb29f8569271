//===- OrderPositions.h - Positions in the order in which ranks hold them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Under a causal mask late positions cost more than early ones. In the zig-zag order
// (runtime/abi/SequenceOrder.h) every rank of the sequence axes holds an early and a late
// chunk, and all have the same work. Nearly all ops work on positions one by one and do not
// notice. What does notice:
//
//  - attention masks compare positions, which its local form knows (RingAttention.h);
//  - inputs, constants, states, and ops that look at neighbours or count (shifted labels, the
//    numbers of positions) stay in the order of the sequence; a graph.reorder stands where
//    what they make meets the rest. They are whole on every rank, and small: integers.
//
// A sequence that does not divide by its ranks is handled likewise: on the far side of a
// reorder it is padded, and labels of padding are ignored.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_LAYOUT_ORDERPOSITIONS_H
#define DTCC_PASSES_SPMD_LAYOUT_ORDERPOSITIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "planner/plan/Plan.h"

namespace dtcc::spmd {

/// Returns the reason why the positions of `step` cannot have the zigzag order over `ranks` ranks, or nothing if they
/// can. Each rank splits its positions further into `parts` (sequence parallelism).
std::optional<std::string> whyNotZigZag(mlir::func::FuncOp step, int64_t ranks, int64_t parts = 1);

/// Whether the step has attention with a causal mask, whose work the zigzag order would balance.
bool hasCausalAttention(mlir::func::FuncOp step);

/// Rewrites the step, whose stages are assigned, for the order and the ranks of the plan. Fails with a message.
mlir::LogicalResult orderPositions(mlir::func::FuncOp step, const plan::Plan &plan);

/// Checks that all reordered dimensions are padded to whole chunks and no further, because in the zigzag order the
/// place of a position follows from the number of rows. `rowsOf` returns the padded size of a dimension. Fails with a
/// message.
mlir::LogicalResult checkOrderedRows(mlir::func::FuncOp step, llvm::function_ref<int64_t(mlir::Value, int64_t)> rowsOf);

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_LAYOUT_ORDERPOSITIONS_H
