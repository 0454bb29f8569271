//===- KernelTraffic.cpp - Which values of a step pass through memory
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/model/KernelTraffic.h"

#include "dialects/graph/Graph.h"
#include "planner/step/ViewOps.h"

using namespace mlir;

namespace dtcc::spmd {

static Value behindViews(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

static int64_t cellsOf(Value value) { return cast<ShapedType>(value.getType()).getNumElements(); }

/// The ops that read a value, or a view of it.
static SmallVector<Operation *> readersOf(Value value) {
  SmallVector<Operation *> readers;
  for (Operation *user : value.getUsers())
    if (isView(user))
      for (Value part : user->getResults())
        llvm::append_range(readers, readersOf(part));
    else
      readers.push_back(user);
  return readers;
}

/// Whether generated kernels compute an op row by row or cell by cell, so that they can hold its neighbours too
/// (exec-expand-composites, exec-fuse). Gradients of a norm's parameters are sums over rows: kernels of their own.
static bool isOfKernels(Operation *op) {
  return isa<graph::ElementwiseOpInterface, graph::LayerNormOp, graph::LayerNormGradOp, graph::RmsNormOp,
             graph::RmsNormGradOp, graph::BatchNormOp, graph::BatchNormGradOp, graph::SoftmaxOp, graph::RotaryOp>(op);
}

/// Whether a product can end with an op (exec-fold-epilogues): a bias, or an activation and its gradient.
static bool isEpilogue(Operation *op) {
  if (isa<graph::GeluOp, graph::GeluGradOp>(op))
    return true;
  return isa<graph::AddOp>(op) &&
         llvm::any_of(op->getOperands(), [](Value operand) { return operand.getDefiningOp<graph::BroadcastOp>(); });
}

/// Whether an op adds up rows that a product of weights reads: the gradient of a bias, which that product computes.
static bool isBiasGradient(graph::ReduceOp reduce) {
  return llvm::any_of(readersOf(behindViews(reduce.getX())), llvm::IsaPred<graph::ContractOp>);
}

int64_t KernelTraffic::passesOf(Operation *op) {
  // Its sums are those that the gradient of the norm's input wants first.
  if (isa<graph::BatchNormParamGradOp>(op))
    return 0;
  // A mean, then a variance, then cells; sums, then cells.
  return isa<graph::BatchNormOp>(op) ? 3 : isa<graph::BatchNormGradOp>(op) ? 2 : 1;
}

bool KernelTraffic::areInSameKernel(Operation *maker, Operation *reader) const {
  const BlockTable::Op *first = table.find(maker), *second = table.find(reader);
  if (!first || !second || first->op != maker || second->op != reader || first->phase != second->phase)
    return false;
  const StepBlocks &blocks = table.input.blocks;
  if (blocks.blockOf(maker) != blocks.blockOf(reader))
    return false;
  if (isOfKernels(maker) && isOfKernels(reader))
    return true;
  const bool isOnly = llvm::count_if(readersOf(maker->getResult(0)), [&](Operation *each) {
                        const BlockTable::Op *other = table.find(each);
                        return other && other->phase == first->phase && blocks.blockOf(each) == blocks.blockOf(maker);
                      }) == 1;
  if (!isOnly)
    return false;
  if (isa<graph::CastOp>(reader))
    return true; // whatever makes it stores it so
  if (isa<graph::StackOp>(reader))
    return isa<graph::AttentionGradOp>(maker);
  return isa<graph::ContractOp>(maker) && isEpilogue(reader);
}

SmallVector<Operation *> KernelTraffic::makersInKernel(Operation *reader) const {
  SmallVector<Operation *> makers;
  for (Value operand : reader->getOperands())
    if (Operation *maker = behindViews(operand).getDefiningOp(); maker && areInSameKernel(maker, reader))
      makers.push_back(maker);
  return makers;
}

bool KernelTraffic::staysInKernel(Value value, Operation *reader) const {
  const BlockTable::Op *entry = table.find(reader);
  if (auto reduce = dyn_cast<graph::ReduceOp>(reader);
      reduce && entry && entry->phase == graph::Phase::WeightGradient && isBiasGradient(reduce))
    return true;
  Operation *maker = value.getDefiningOp();
  return maker && areInSameKernel(maker, reader);
}

Value KernelTraffic::readFor(Operation *reader, unsigned operand) const {
  Value value = reader->getOperand(operand), smallest = value;
  for (; isView(value.getDefiningOp()); value = value.getDefiningOp()->getOperand(0))
    if (cellsOf(value.getDefiningOp()->getOperand(0)) < cellsOf(smallest))
      smallest = value.getDefiningOp()->getOperand(0);
  return staysInKernel(value, reader) ? Value() : smallest;
}

bool KernelTraffic::isWritten(Value result) const {
  SmallVector<Operation *> readers = readersOf(result);
  return readers.empty() || llvm::any_of(readers, [&](Operation *reader) { return !staysInKernel(result, reader); });
}

} // namespace dtcc::spmd
