//===- Lifetimes.cpp - The last readers of values -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/bufferize/Lifetimes.h"
#include "dialects/graph/Origin.h"
#include "passes/exec/bufferize/OpRule.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

Lifetimes::Lifetimes(spmd::ProgramOp program) {
  int64_t next = 0;
  for (auto phase : program.getOps<spmd::PhaseOp>()) {
    for (Operation &op : phase.getBody().front()) {
      if (!graph::computesLoss(&op))
        backward = std::min(backward, next);
      positions[&op] = next++;
    }
    positions[phase] = next++;
  }
}

int64_t Lifetimes::lastUse(Value value) const {
  if (auto known = lastUses.find(value); known != lastUses.end())
    return known->second;
  auto phaseOf = [](Operation *op) { return op->getParentOfType<spmd::PhaseOp>(); };
  Operation *definition = value.getDefiningOp();
  int64_t last = definition ? position(definition) : 0;
  auto home = isa_and_nonnull<spmd::PhaseOp>(definition) ? cast<spmd::PhaseOp>(definition) : phaseOf(definition);
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto phase = phaseOf(user);
    last = std::max(last, phase != home && phase.getRepeat() > 1 ? position(phase) : position(user));
    if (isa<spmd::YieldOp>(user)) {
      last = std::max(last, lastUse(phase.getResult(use.getOperandNumber())));
      continue;
    }
    const OpRule *rule = findRule(user);
    if (rule && rule->isView)
      for (Value result : user->getResults())
        last = std::max(last, lastUse(result));
  }
  return lastUses[value] = last;
}
