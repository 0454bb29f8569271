//===- PartialFlow.cpp - Which partial sums flow through an op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/layout/PartialFlow.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace dtcc::spmd {

/// Must all operands be partial together?
static bool mustBeAll(Operation *op, ArrayRef<unsigned> members) {
  return op->hasTrait<OpTrait::SameOperandsAndResultType>() && members.size() != op->getNumOperands();
}

static int64_t sizeOf(Value value) { return cast<ShapedType>(value.getType()).getNumElements(); }

static int64_t sizeOfResults(Operation *op) {
  int64_t size = 0;
  for (Value result : op->getResults())
    size += sizeOf(result);
  return size;
}

std::optional<int64_t> PartialFlow::setThatMayFlow(Operation *op, const FactorMap &map,
                                                   llvm::function_ref<bool(Value)> mayBe) {
  for (auto [set, members] : llvm::enumerate(map.linear)) {
    if (members.empty() || mustBeAll(op, members))
      continue;
    int64_t before = 0;
    bool flows = llvm::all_of(members, [&](unsigned member) {
      Value value = op->getOperand(member);
      before += sizeOf(value);
      return value.hasOneUse() && mayBe(value);
    });
    if (flows && sizeOfResults(op) <= before)
      return int64_t(set);
  }
  return std::nullopt;
}

void PartialFlow::choose(Operation *op, const FactorMap &map, Placement &placement) const {
  auto partialOf = [&](Value value) {
    Layout layout = layoutOf(value);
    return layout.reduction == Reduction::Sum ? layout.partial : Axes();
  };
  Axes used = placement.used();
  for (auto [set, members] : llvm::enumerate(map.linear)) {
    if (mustBeAll(op, members))
      continue;
    Axes all, common = partialOf(op->getOperand(members.front()));
    bool onlyUses = true;
    int64_t before = 0;
    for (unsigned member : members) {
      Value value = op->getOperand(member);
      Axes partial = partialOf(value);
      for (const std::string &axis : partial)
        if (!contains(all, axis) && !contains(used, axis) && (!isGiven || ofStep(axis)))
          all.push_back(axis);
      std::erase_if(common, [&](const std::string &axis) { return !contains(partial, axis) || contains(used, axis); });
      onlyUses &= value.hasOneUse();
      before += sizeOf(value);
    }
    // Sums over samples and positions wait for the end of the step, with all that is partial beside them.
    bool overBatch = llvm::any_of(all, ofStep);
    // Sums over other axes are delayed where this costs nothing and the plan does not say which are.
    if (!overBatch && (isGiven || !(onlyUses && sizeOfResults(op) <= before)))
      common.clear();
    const Axes &flow = overBatch ? all : common;
    if (flow.empty())
      continue;
    if (placement.linearSet != static_cast<int64_t>(set))
      placement.partial.clear();
    placement.linearSet = set;
    for (const std::string &axis : flow)
      if (!contains(placement.partial, axis))
        placement.partial.push_back(axis);
    return;
  }
}

} // namespace dtcc::spmd
