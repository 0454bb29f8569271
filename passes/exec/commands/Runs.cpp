//===- Runs.cpp - What a step of an exec.program runs, in order
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/exec/commands/Runs.h"
#include "dialects/interfaces/PhaseRun.h"

using namespace mlir;

std::vector<dtcc::exec::Run> dtcc::exec::runsOf(ProgramOp program) {
  std::vector<Run> runs;
  llvm::StringMap<size_t> numbers;
  for (auto phase : program.getOps<PhaseOp>()) {
    size_t number = numbers.size();
    numbers[phase.getSymName()] = number;
    if (!program.getActions())
      for (int64_t slot = 0; slot < int64_t(phase.getRepeat()); ++slot)
        runs.push_back({number, slot});
  }
  if (spmd::RunsAttr actions = program.getActionsAttr())
    for (const PhaseRun &run : actions.getRuns())
      runs.push_back({numbers.lookup(run.phase), run.slot});
  return runs;
}

dtcc::exec::SlotMaps::SlotMaps(ProgramOp program) {
  for (auto order : program.getOps<SlotOrderOp>())
    orders[order.getSymName()] = order.getOrder();
}

dtcc::exec::SlotMap dtcc::exec::SlotMaps::of(ViewOp view) const {
  if (view.getSlotOrder())
    return {1, orders.lookup(*view.getSlotOrder())};
  return {int64_t(view.getSlots().value_or(1)), {}};
}
