//===- StateValues.cpp - Values that are computed from states alone
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/partition/StateValues.h"
#include "dialects/interfaces/OpInterfaces.h"
#include "dialects/interfaces/Work.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dtcc::spmd {

bool dependsOnOtherStates(Value value, StringRef own) {
  llvm::SetVector<Operation *> ops;
  auto visit = [&](Value operand) {
    if (!operand.getDefiningOp())
      return false;
    ops.insert(operand.getDefiningOp());
    return true;
  };
  if (!visit(value))
    return false;
  bool others = false;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (std::optional<StringRef> state = readState(ops[i]))
      others |= *state != own;
    for (Value operand : ops[i]->getOperands())
      if (!visit(operand))
        return false;
  }
  return others;
}

bool onlyRepeatsCells(Operation *op) {
  if (op->getNumResults() != 1 || flopsOf(op) != 0.0)
    return false;
  int64_t before = 0;
  for (Value operand : op->getOperands())
    before += cast<ShapedType>(operand.getType()).getNumElements();
  return cast<ShapedType>(op->getResult(0).getType()).getNumElements() >= before;
}

} // namespace dtcc::spmd
