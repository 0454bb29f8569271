//===- ModelWork.cpp - How much a training step computes by its definition
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/step/ModelWork.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/Factors.h"
#include "dialects/interfaces/Work.h"
#include "planner/cost/Work.h"

using namespace mlir;
using namespace dtcc;

static double cellsOf(Value value) { return double(cast<ShapedType>(value.getType()).getNumElements()); }

/// Whether an op sums products: alone, in experts or step by step.
static bool sumsProducts(Operation &op) {
  if (isa<graph::ExpertsOp, graph::ExpertsGradOp, graph::ExpertsWeightGradOp, graph::RecurrenceOp,
          graph::RecurrenceGradOp>(op))
    return true;
  auto factors = dyn_cast<FactorOpInterface>(op);
  if (!factors)
    return false;
  FactorMap map = factors.getFactorMap();
  return map.multiplies() && !map.reducedFactors().empty();
}

double dtcc::spmd::modelFlops(func::FuncOp step) {
  double flops = 0;
  for (Operation &op : step.getOps()) {
    if (graph::isEvaluation(&op))
      continue;
    if (auto attention = dyn_cast<graph::AttentionOp>(op)) {
      // The definition counts neither the softmax nor the scores that the backward op computes again, as flopsOf does.
      double keys = double(cast<ShapedType>(attention.getK().getType()).getDimSize(1));
      double products = 2 * (cellsOf(attention.getQ()) + cellsOf(attention.getOut())) * keys;
      flops += cost::kProductsInStep * products * (attention.getMask().getCausal() ? 0.5 : 1);
    } else if (sumsProducts(op)) {
      flops += flopsOf(&op).value_or(0);
    }
  }
  return flops;
}
