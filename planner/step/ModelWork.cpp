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

using namespace mlir;
using namespace dtcc;

/// A backward pass makes two products where the forward pass makes one.
static constexpr double kPasses = 3;

static double cellsOf(Value value) { return double(cast<ShapedType>(value.getType()).getNumElements()); }

double dtcc::spmd::modelFlops(func::FuncOp step) {
  double flops = 0;
  for (Operation &op : step.getOps()) {
    if (graph::isEvaluation(&op))
      continue;
    if (auto attention = dyn_cast<graph::AttentionOp>(op)) {
      double keys = double(cast<ShapedType>(attention.getK().getType()).getDimSize(1));
      flops += kPasses * 4 * cellsOf(attention.getQ()) * keys * (attention.getMask().getCausal() ? 0.5 : 1);
    } else if (auto experts = dyn_cast<graph::ExpertsOp>(op)) {
      double count = double(cast<ShapedType>(experts.getWIn().getType()).getDimSize(0));
      flops +=
          kPasses * 2 * cellsOf(experts.getIds()) * (cellsOf(experts.getWIn()) + cellsOf(experts.getWOut())) / count;
    } else if (auto factors = dyn_cast<FactorOpInterface>(op)) {
      FactorMap map = factors.getFactorMap();
      if (!map.multiplies() || map.reducedFactors().empty())
        continue;
      double cells = 1;
      for (const Factor &factor : map.factors)
        cells *= double(factor.size);
      flops += 2 * cells;
    }
  }
  return flops;
}
