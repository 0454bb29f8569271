//===- OrderSums.cpp - Which term of a sum over micro-batches comes first
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/partition/OrderSums.h"
#include "dialects/interfaces/PhaseRun.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace dtcc::spmd {

SmallVector<PhaseOp> byFirstRun(ProgramOp program) {
  SmallVector<PhaseOp> phases(program.getOps<PhaseOp>());
  RunsAttr actions = program.getActionsAttr();
  if (!actions)
    return phases;
  llvm::StringMap<size_t> first;
  for (const PhaseRun &run : actions.getRuns())
    first.try_emplace(run.phase, first.size());
  // All phases run.
  llvm::sort(phases, [&](PhaseOp a, PhaseOp b) { return first.lookup(a.getSymName()) < first.lookup(b.getSymName()); });
  return phases;
}

void orderSums(ProgramOp program) {
  llvm::DenseSet<Attribute> transient;
  for (auto bucket : program->getParentOfType<ModuleOp>().getOps<BucketOp>())
    if (bucket.getRole() == BucketRole::Transient)
      transient.insert(FlatSymbolRefAttr::get(bucket.getSymNameAttr()));
  llvm::DenseSet<std::pair<Attribute, int64_t>> begun;
  for (PhaseOp phase : byFirstRun(program)) {
    llvm::DenseSet<std::pair<Attribute, int64_t>> here;
    // An evaluation begins its sums anew.
    if (isOfEvaluation(phase.getSymName()))
      begun.clear();
    for (Operation &op : phase.getBody().front()) {
      if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
        auto &sums = transient.contains(accumulate.getBucketAttr()) ? here : begun;
        accumulate.setAgain(
            !sums.insert({accumulate.getBucketAttr(), static_cast<int64_t>(accumulate.getOffset())}).second);
      } else if (auto reduce = dyn_cast<ReduceBucketOp>(op); reduce && reduce.getInto()) {
        reduce.setAgain(!begun.insert({reduce.getIntoAttr(), 0}).second);
      }
    }
  }
}

} // namespace dtcc::spmd
