//===- GradientOps.cpp - What a model does to its gradients
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both ops are the identity of operand 0; they differ in the operand that receives the
// gradient.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Precision.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

#define DTCC_IDENTITY(OP)                                                                                              \
  FactorMap OP::getFactorMap() {                                                                                       \
    FactorMap map = elementwiseFactorMap(*this);                                                                       \
    map.linear = {{0}};                                                                                                \
    return map;                                                                                                        \
  }                                                                                                                    \
  double OP::getFlops(ArrayRef<int64_t>) { return 0; }                                                                 \
  LogicalResult OP::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results,                       \
                             const EvaluationContext &) {                                                              \
    results[0] = operands[0];                                                                                          \
    return success();                                                                                                  \
  }                                                                                                                    \
  Precision OP::getOperandPrecision(unsigned) { return Precision::Follow; }                                            \
  Precision OP::getResultPrecision(unsigned) { return Precision::Follow; }                                             \
  Value OP::getForwardValue() { return this->getOperation()->getOperand(0); }

DTCC_IDENTITY(StopGradientOp)
DTCC_IDENTITY(ReplaceGradientOp)

bool StopGradientOp::passesGradient(unsigned) { return false; }
LogicalResult StopGradientOp::buildGradient(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) {
  return success();
}

bool ReplaceGradientOp::passesGradient(unsigned operand) { return operand == 1; }
LogicalResult ReplaceGradientOp::buildGradient(OpBuilder &, ValueRange grads, ArrayRef<bool> wanted,
                                               MutableArrayRef<Value> operandGrads) {
  if (wanted[1])
    operandGrads[1] = grads[0];
  return success();
}
