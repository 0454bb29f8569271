//===- NearOne.cpp - Logarithms and exponentials near 1
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX has no log1p and no expm1: exporters write log(1 + x) and exp(x) - 1, which in f32 have no digit left of an x
// below 6e-8. The ops have all digits, and the gradients are the same.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Graph.h"
#include "passes/graph/recover/Recover.h"

using namespace mlir;

namespace dtcc::graph {

/// Returns the other term if `value` is the sum of `number` and a term; else null.
static Value besideNumber(Value value, double number) {
  if (auto sum = value.getDefiningOp<AddOp>()) {
    if (splatValue(sum.getRhs()) == number)
      return sum.getLhs();
    if (splatValue(sum.getLhs()) == number)
      return sum.getRhs();
  }
  auto difference = value.getDefiningOp<SubOp>();
  return difference && splatValue(difference.getRhs()) == -number ? difference.getLhs() : Value();
}

void recoverNearOne(func::FuncOp function) {
  for (auto log : llvm::to_vector(function.getOps<LogOp>()))
    if (Value x = besideNumber(log.getX(), 1)) {
      OpBuilder builder(log);
      log.replaceAllUsesWith(Log1pOp::create(builder, log.getLoc(), x).getY());
    }
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    if (!isa<AddOp, SubOp>(op))
      continue;
    Value power = besideNumber(op.getResult(0), -1);
    if (auto exp = power ? power.getDefiningOp<ExpOp>() : ExpOp()) {
      OpBuilder builder(&op);
      op.replaceAllUsesWith(Expm1Op::create(builder, op.getLoc(), exp.getX()));
    }
  }
}

} // namespace dtcc::graph
