//===- Evaluation.h - The loss in evaluation form beside a training step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_GRAPH_EVALUATION_H
#define DTCC_PASSES_GRAPH_EVALUATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dtcc::graph {

/// Adds to `step` the ops of its loss once more, in evaluation form and with the phase E, and returns their sum and
/// count behind the results of the step. No op of the step reads them, and they read none of its ops: a program runs
/// the step or the evaluation. Their origins are the forward ops that they repeat, so a plan places both alike.
void addEvaluation(mlir::func::FuncOp step);

} // namespace dtcc::graph

#endif // DTCC_PASSES_GRAPH_EVALUATION_H
