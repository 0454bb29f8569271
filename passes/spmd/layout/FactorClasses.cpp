//===- FactorClasses.cpp - Which dimensions of a training step are one
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/layout/FactorClasses.h"
#include "dialects/graph/PositionOps.h"

using namespace mlir;

namespace dtcc::spmd {

unsigned FactorClasses::reserve(unsigned number) {
  unsigned first = nodes;
  nodes += number;
  classes.grow(nodes);
  return first;
}

void FactorClasses::join(unsigned a, unsigned b, unsigned number) {
  for (unsigned i = 0; i < number; ++i)
    classes.join(a + i, b + i);
}

unsigned FactorClasses::stateNode(StringRef name, unsigned rank) {
  auto [at, isNew] = states.try_emplace(name, 0);
  if (isNew)
    at->second = reserve(rank);
  return at->second;
}

static unsigned rankOf(Value value) { return cast<ShapedType>(value.getType()).getRank(); }

FactorClasses::FactorClasses(func::FuncOp step) {
  auto add = [&](Value value) { values[value] = reserve(rankOf(value)); };
  llvm::for_each(step.getArguments(), add);
  for (Operation &op : step.getBody().front()) {
    llvm::for_each(op.getResults(), add);
    for (const StateAccess &access : stateAccesses(&op))
      join(values[access.value], stateNode(access.state, rankOf(access.value)), rankOf(access.value));
    auto factored = dyn_cast<FactorOpInterface>(op);
    if (!factored)
      continue;
    FactorMap map = factored.getFactorMap();
    unsigned first = factors[&op] = reserve(map.factors.size());
    auto walk = [&](Value value, ArrayRef<int64_t> dims) {
      for (auto [dim, factor] : llvm::enumerate(dims))
        if (factor != kNoFactor)
          classes.join(values[value] + dim, first + factor);
    };
    for (auto [i, value] : llvm::enumerate(op.getOperands()))
      walk(value, map.operands[i]);
    for (auto [i, value] : llvm::enumerate(op.getResults()))
      walk(value, map.results[i]);
  }
  classes.compress();
}

InputClasses::InputClasses(func::FuncOp step, const FactorClasses &classes) {
  for (BlockArgument argument : step.getArguments())
    for (unsigned dim = 0; dim < rankOf(argument); ++dim)
      (dim == 0 ? batch : others).insert(classes.ofDim(argument, dim));
  // In another order than that of the sequence: those in this order are split, the others whole.
  for (auto reorder : step.getOps<graph::ReorderOp>())
    positions.insert(classes.ofDim(reorder.getInverse() ? reorder.getX() : reorder.getY(), reorder.getDim()));
  if (!positions.empty())
    return;
  for (BlockArgument argument : step.getArguments()) {
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role");
    if (role && role.getValue() != "data" && rankOf(argument) > 1)
      positions.insert(classes.ofDim(argument, 1));
  }
}

} // namespace dtcc::spmd
