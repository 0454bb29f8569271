//===- WholeBatch.cpp - Values of all samples, in every micro-batch
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/layout/WholeBatch.h"
#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "passes/spmd/layout/Projection.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dtcc::spmd {

static Layout layoutOf(Value value) { return cast<TensorType>(value.getType()).getLayout(); }

/// Whether an op of a step computes nothing: it brings its operand to another layout.
static bool isReshard(Operation *op) { return !isa<FactorOpInterface>(op) && op->getNumOperands() == 1; }

/// The value that reshards bring to other layouts.
static Value behindReshards(Value value) {
  while (value.getDefiningOp() && isReshard(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

Axes WholeBatch::withoutTime(Axes axes) const {
  std::erase_if(axes, [&](const std::string &axis) { return mesh.isTime(axis); });
  return axes;
}

bool WholeBatch::isSplit(Value value) const {
  return llvm::any_of(layoutOf(value).used(), [&](const std::string &axis) { return mesh.isTime(axis); });
}

bool WholeBatch::canCompute(Value value) const {
  if (!isSplit(value))
    return false;
  auto module = step->getParentOfType<ModuleOp>();
  llvm::SetVector<Value> open;
  open.insert(value);
  bool readsStates = false, multiplies = false;
  for (size_t i = 0; i < open.size(); ++i) {
    Operation *op = open[i].getDefiningOp();
    if (!op)
      continue;
    if (std::optional<StringRef> state = readState(op)) {
      if (module.lookupSymbol<graph::StateOp>(*state).getTrainable())
        return false;
      readsStates = true;
    } else if (auto factored = dyn_cast<FactorOpInterface>(op)) {
      FactorMap map = factored.getFactorMap();
      multiplies |= map.multiplies() && !map.reducedFactors().empty();
    } else if (!isReshard(op)) {
      return false;
    }
    open.insert(op->operand_begin(), op->operand_end());
  }
  return !(readsStates && multiplies);
}

Value WholeBatch::readWhole(BlockArgument argument) {
  auto type = cast<TensorType>(argument.getType());
  Layout layout = type.getLayout();
  for (Axes &axes : layout.dims)
    axes = withoutTime(axes);
  unsigned end = step.getNumArguments();
  if (failed(step.insertArgument(end, type.withLayout(layout), step.getArgAttrDict(argument.getArgNumber()),
                                 argument.getLoc())))
    return {};
  return step.getArgument(end);
}

Value WholeBatch::compute(Value value, Operation *user, Reshard reshard) {
  value = behindReshards(value);
  if (!isSplit(value))
    return value;
  if (Value known = computed.lookup(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computed[value] = readWhole(argument);
  Operation *op = value.getDefiningOp();
  FactorMap map = cast<FactorOpInterface>(op).getFactorMap();
  Placement placement = placements.lookup(op);
  // Partial sums are reduced at once: they are small.
  placement.partial.clear();
  for (Axes &axes : placement.factors)
    axes = withoutTime(axes);
  llvm::Expected<OpLayouts> layouts = project(map, placement);
  if (!layouts)
    return op->emitError(llvm::toString(layouts.takeError())), Value();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(compute(operand, user, reshard));
    if (!operands.back())
      return {};
  }
  OpBuilder builder(user);
  Operation *whole = builder.clone(*op);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    Layout wanted = layouts->operands[i];
    wanted.padded = layoutOf(operand).padded;
    Value there = reshard(operand, wanted, whole);
    if (!there)
      return {};
    whole->setOperand(i, there);
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Layout layout = layouts->results[i];
    layout.padded = layoutOf(result).padded;
    ArrayRef<int64_t> shape = cast<TensorType>(result.getType()).getShape();
    layout.normalize({shape.begin(), shape.end()});
    Value again = whole->getResult(i);
    again.setType(cast<TensorType>(result.getType()).withLayout(layout));
    computed[result] = again;
  }
  return computed[value];
}

} // namespace dtcc::spmd
