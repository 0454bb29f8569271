//===- RecurrenceRules.cpp - Bufferization of recurrent layers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/graph/Shapes.h"
#include "passes/exec/bufferize/OpRules.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

/// Views of all operands, whose cells lie without gaps.
static SmallVector<Value> denseOperands(Operation *op, Bufferizer &b) {
  SmallVector<Value> ins;
  for (Value operand : op->getOperands())
    ins.push_back(b.view(b.dense(b.placeOf(operand), "recurrence")));
  return ins;
}

/// Views of all results. Result `over` takes the memory of `dying`, if that has its size and is read no more.
static SmallVector<Value> resultsOver(Operation *op, unsigned over, Value dying, Bufferizer &b) {
  SmallVector<Value> outs;
  for (OpResult result : op->getResults())
    outs.push_back(b.view(result.getResultNumber() == over ? b.placeOver(result, dying, op) : b.place(result)));
  return outs;
}

/// The cell, the direction and whether products may round, as LibraryOps.def has them.
template <typename OpTy> static SmallVector<Attribute> layerParameters(OpTy op, Bufferizer &b) {
  return {b.builder().getI64IntegerAttr(static_cast<int64_t>(op.getCell())),
          b.builder().getI64IntegerAttr(op.getReverse()),
          b.builder().getI64IntegerAttr(op.getProductType().has_value())};
}

/// A gru multiplies its weights with what the reset gate leaves of the state [b, h].
template <typename OpTy> static int64_t workspaceOf(OpTy op) {
  return op.getCell() == RecurrentCell::Gru ? getBytes(cast<ShapedType>(op.getStart().getType())) : 0;
}

static LogicalResult verifyElement(Operation *op) {
  if (Type type = op->getOperand(0).getType(); !cast<ShapedType>(type).getElementType().isF32())
    return op->emitOpError("has no library op for ") << type << ": recurrent layers are of f32";
  return success();
}

static LogicalResult lowerRecurrence(graph::RecurrenceOp op, Bufferizer &b) {
  if (failed(verifyElement(op)))
    return failure();
  SmallVector<Value> ins = denseOperands(op, b);
  SmallVector<Value> outs = resultsOver(op, op->getNumResults() - 1, op.getProjected(), b);
  b.library(op, "recurrence", ins, outs, layerParameters(op, b), /*updates=*/false, workspaceOf(op));
  return success();
}

static LogicalResult lowerRecurrenceGrad(graph::RecurrenceGradOp op, Bufferizer &b) {
  if (failed(verifyElement(op)))
    return failure();
  SmallVector<Value> ins = denseOperands(op, b), outs = resultsOver(op, 0, op.getGates(), b);
  SmallVector<Attribute> parameters = layerParameters(op, b);
  parameters.push_back(b.builder().getI64IntegerAttr(op.getMemory().size() == 3));
  b.library(op, "recurrence_grad", ins, outs, parameters, /*updates=*/false, workspaceOf(op));
  return success();
}

void dtcc::exec::addRecurrenceRules(OpRules &rules) {
  rules[graph::RecurrenceOp::getOperationName()] = ruleOf<graph::RecurrenceOp, lowerRecurrence>();
  rules[graph::RecurrenceGradOp::getOperationName()] = ruleOf<graph::RecurrenceGradOp, lowerRecurrenceGrad>();
}
