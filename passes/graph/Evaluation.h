//===- Evaluation.h - The loss in evaluation form beside a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_EVALUATION_H
#define DTCC_PASSES_GRAPH_EVALUATION_H

#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace dtcc::graph {

/// A result of an evaluation besides its loss, made of the logits that the loss reads.
enum class Prediction {
  None,
  /// The logits of the row whose label counts, as a vector of all classes: the sum over such rows. A program gives a
  /// label to one row, and so learns what the model expects there.
  Logits,
  /// How many labels that count name the class of the largest logit.
  Hits,
};

/// The cross entropy of a step whose logits are the predictions of the model: the only one, and its logits do not
/// depend on labels. Null if there is none.
CrossEntropyOp findPredictingLoss(mlir::func::FuncOp step);

/// The most dimensions of an input of the role `role` ("tokens", "labels"); 0: there is none. Labels with fewer than
/// tokens are one for a whole sample.
int64_t inputRank(mlir::FunctionOpInterface step, mlir::StringRef role);

/// The prediction that suits a step with this loss (or null): logits for a model of tokens whose loss leaves rows out
/// by their label, hits for a model of classes.
Prediction predictionOf(mlir::func::FuncOp step, CrossEntropyOp loss);

/// Adds to `step` the ops of its loss once more, in evaluation form and with the phase E, and returns their sum and
/// count behind the results of the step, then the prediction, if it is not None. No op of the step reads them, and
/// they read none of its ops: a program runs the step or the evaluation. Their origins are the forward ops that they
/// repeat, so a plan places both alike.
void addEvaluation(mlir::func::FuncOp step, Prediction prediction = Prediction::None);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_EVALUATION_H
