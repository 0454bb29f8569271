//===- LabelShift.h - Which token a label of --tokens is
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A language model predicts the next token. Some graphs compare the logits of position
// t with label t + 1 (they shift inside), others with label t. With --tokens there are
// no labels: the runtime takes them from the tokens, shifted by what the graph does not
// shift itself (`label_shift` of runtime/abi/dtcc_rt.h).
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_COMPILER_TRAINING_LABELSHIFT_H
#define DTCC_COMPILER_TRAINING_LABELSHIFT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace dtcc {

/// Number of positions by which the labels of the cross entropy in @step run ahead of the
/// tokens at which its logits were computed: 1 if position t is compared with label
/// t + 1. Found by following the dimension of positions backwards from both operands
/// through every op's factor map. Empty if the two do not lead to one answer.
std::optional<int64_t> findShiftInside(mlir::ModuleOp module);

/// The reason of a shift that nothing in the file tells.
inline constexpr llvm::StringLiteral kLabelShiftIsAGuess = "as most models expect; its graph does not tell";

/// Decides `dtcc.label_shift` of a module with @step: by `graph.loss_shift`, what the
/// export says its loss shifts, else by findShiftInside, else 1. Nothing for a model
/// without tokens and labels, or where it was decided before. Fails with a message if an
/// attribute holds no possible number of positions.
llvm::LogicalResult decideLabelShift(mlir::ModuleOp module);

/// Says so if the model sees the token that --tokens makes a label: its attention to tokens is not causal. Such a model
/// learns to copy, and needs labels of the user's own.
void tellOfSeenLabels(mlir::ModuleOp module);

/// The decision; 0 if none was made.
int64_t labelShift(mlir::ModuleOp module);

} // namespace dtcc

#endif // DTCC_COMPILER_TRAINING_LABELSHIFT_H
