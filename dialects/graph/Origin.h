//===- Origin.h - Where a backward op comes from
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Differentiation tags every op, so that a plan can speak about forward ops alone and
// a schedule can split a backward pass. The tags are discardable attributes:
//
//   origin        i64: the number of the forward op; a forward op carries its own
//   phase         "F" forward, "I" input gradient, "W" weight gradient, "U" update, "R" a forward
//                 op computed once more for the backward pass, "E" a forward op in evaluation form
//   origin_factors array<i64>: per factor of this op the factor of the forward op it
//                 walks, or -1. Absent on forward ops (the identity).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_GRAPH_ORIGIN_H
#define DTCC_DIALECTS_GRAPH_ORIGIN_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace dtcc::graph {

enum class Phase { Forward, InputGradient, WeightGradient, Update, Recompute, Evaluation };

/// The number of the forward op that `op` belongs to, if tagged.
std::optional<int64_t> getOrigin(mlir::Operation *op);
/// The phase of `op`; Forward if the op has no tag.
Phase getPhase(mlir::Operation *op);
std::optional<Phase> findPhase(mlir::Operation *op);
/// Whether `op` belongs to the evaluation that follows a step.
bool isEvaluation(mlir::Operation *op);
/// Whether `op` computes the loss of the step or of the evaluation, whose ops have the layouts of the step's.
bool computesLoss(mlir::Operation *op);
/// For each factor of `op` the factor of the forward op, or -1; empty if the op has no tag.
llvm::SmallVector<int64_t> getOriginFactors(mlir::Operation *op);

void setOrigin(mlir::Operation *op, int64_t origin, Phase phase);
/// Tags `op` with a phase, without an origin.
void setPhase(mlir::Operation *op, Phase phase);
void setOriginFactors(mlir::Operation *op, llvm::ArrayRef<int64_t> factors);

} // namespace dtcc::graph

#endif // DTCC_DIALECTS_GRAPH_ORIGIN_H
