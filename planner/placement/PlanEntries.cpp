//===- PlanEntries.cpp - What a plan says of an op
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/placement/PlanEntries.h"
#include "dialects/graph/Origin.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace dtcc::spmd {

plan::OpPlan emptyEntry(Operation *op) {
  plan::OpPlan entry;
  entry.origin = graph::getOrigin(op).value_or(-1);
  entry.op = op->getName().getStringRef().str();
  return entry;
}

void sortEntries(plan::Plan &plan) {
  llvm::sort(plan.ops, [](const plan::OpPlan &a, const plan::OpPlan &b) { return a.origin < b.origin; });
}

void markEntries(plan::Plan &plan, const llvm::MapVector<int64_t, Operation *> &ops,
                 llvm::function_ref<void(plan::OpPlan &)> mark) {
  llvm::DenseSet<int64_t> known;
  for (plan::OpPlan &entry : plan.ops)
    if (ops.contains(entry.origin)) {
      known.insert(entry.origin);
      mark(entry);
    }
  for (auto &[origin, op] : ops)
    if (!known.contains(origin))
      mark(plan.ops.emplace_back(emptyEntry(op)));
  sortEntries(plan);
}

} // namespace dtcc::spmd
