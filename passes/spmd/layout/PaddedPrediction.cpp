//===- PaddedPrediction.cpp - Predictions that padding would falsify
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/layout/PaddedPrediction.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace dtcc::spmd {

/// Number of the result that is the prediction: a step returns three results, and its evaluation two before it.
static constexpr unsigned kPrediction = 5;

void dropPaddedPrediction(func::FuncOp step, llvm::function_ref<bool(Operation *, size_t factor)> isPadded) {
  Operation *end = step.front().getTerminator();
  if (end->getNumOperands() <= kPrediction)
    return;
  // Ops that compute the prediction from the logits have the origin of the loss.
  Operation *last = end->getOperand(kPrediction).getDefiningOp();
  bool reducesPadding = llvm::any_of(step.getOps<graph::ReduceOp>(), [&](graph::ReduceOp op) {
    if (!graph::isEvaluation(op) || graph::getOrigin(op) != graph::getOrigin(last))
      return false;
    FactorMap map = cast<FactorOpInterface>(op.getOperation()).getFactorMap();
    return llvm::any_of(llvm::enumerate(map.factors), [&](const auto &factor) {
      return factor.value().kind == FactorKind::Reduce && isPadded(op, factor.index());
    });
  });
  if (!reducesPadding)
    return;
  end->eraseOperand(kPrediction);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(step.front())))
    if (graph::isEvaluation(&op) && isOpTriviallyDead(&op))
      op.erase();
}

} // namespace dtcc::spmd
