//===- StateValues.cpp - Values that are computed from states alone
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/partition/StateValues.h"
#include "dialects/interfaces/OpInterfaces.h"
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
  auto work = dyn_cast<WorkOpInterface>(op);
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!work || !factored || op->getNumResults() != 1)
    return false;
  SmallVector<int64_t> sizes;
  FactorMap map = factored.getFactorMap();
  for (const Factor &factor : map.factors)
    sizes.push_back(factor.size);
  int64_t before = 0;
  for (Value operand : op->getOperands())
    before += cast<ShapedType>(operand.getType()).getNumElements();
  return work.getFlops(sizes) == 0 && cast<ShapedType>(op->getResult(0).getType()).getNumElements() >= before;
}

} // namespace dtcc::spmd
