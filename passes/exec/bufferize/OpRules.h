//===- OpRules.h - How each kind of op becomes commands -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_EXEC_BUFFERIZE_OPRULES_H
#define DTCC_PASSES_EXEC_BUFFERIZE_OPRULES_H

#include "passes/exec/bufferize/Bufferizer.h"
#include "llvm/ADT/StringMap.h"

namespace dtcc::exec {

using OpRules = llvm::StringMap<OpRule>;

// One function a family adds its rows to the table.
void addMovementRules(OpRules &rules);   // views, stacks, pads, constants
void addComputeRules(OpRules &rules);    // fused kernels
void addProductRules(OpRules &rules);    // contractions
void addAttentionRules(OpRules &rules);  // attention, the order of positions
void addLibraryRules(OpRules &rules);    // embedding, cross entropy
void addExpertRules(OpRules &rules);     // picks, grouped products
void addWindowRules(OpRules &rules);     // convolution, pooling
void addRecurrenceRules(OpRules &rules); // recurrent layers
void addCollectiveRules(OpRules &rules); // messages, and what a rank takes of its own
void addRowRules(OpRules &rules);        // tokens to experts and back
void addUpdateRules(OpRules &rules);     // inputs, buckets, norm, update, report
void addUnitRules(OpRules &rules);       // shares of buckets

/// The rule of every op that communicates and has no row: collectives on one tensor.
OpRule collectiveRule();

/// A row: `rules[Op::getOperationName()] = {lower}` with the op cast.
template <typename Op, mlir::LogicalResult (*Lower)(Op, Bufferizer &)> OpRule ruleOf() {
  return {[](mlir::Operation *op, Bufferizer &b) { return Lower(mlir::cast<Op>(op), b); }};
}

/// Fills the cells between the gradients of a bucket with zeros if other values use its memory at other times
/// (Storage::takeGaps). Sums over the whole bucket read these cells.
void fillGaps(mlir::FlatSymbolRefAttr symbol, Bufferizer &b);

/// This rank's share over `axes` of one-dimensional storage that lies whole in its memory.
Place shareOf(Place whole, mlir::ArrayAttr axes, Bufferizer &b);

} // namespace dtcc::exec

#endif // DTCC_PASSES_EXEC_BUFFERIZE_OPRULES_H
