//===- PhaseRun.cpp - One entry of the step of a stage
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/interfaces/PhaseRun.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace dtcc {

static bool parse(StringRef text, PhaseRun &run) {
  auto [phase, slot] = text.split(' ');
  run.phase = phase.str();
  return !phase.empty() && !slot.getAsInteger(10, run.slot) && run.slot >= 0;
}

std::vector<PhaseRun> toPhaseRuns(ArrayAttr actions) {
  std::vector<PhaseRun> runs;
  PhaseRun run;
  for (auto action : actions.getAsRange<StringAttr>())
    if (parse(action.getValue(), run))
      runs.push_back(run);
  return runs;
}

ArrayAttr fromPhaseRuns(MLIRContext *context, ArrayRef<PhaseRun> runs) {
  SmallVector<Attribute> actions;
  for (const PhaseRun &run : runs)
    actions.push_back(StringAttr::get(context, run.str()));
  return ArrayAttr::get(context, actions);
}

LogicalResult verifyPhaseRuns(Operation *program, ArrayAttr actions, ArrayRef<std::pair<StringRef, int64_t>> phases) {
  for (auto action : actions.getAsRange<StringAttr>()) {
    PhaseRun run;
    if (!parse(action.getValue(), run))
      return program->emitOpError("action must be a phase and a slot, as \"forward 0\", got: ") << action;
    auto phase = llvm::find_if(phases, [&](const auto &entry) { return entry.first == run.phase; });
    if (phase == phases.end())
      return program->emitOpError("action must name a phase of the program, got: ") << action;
    if (run.slot >= phase->second)
      return program->emitOpError("slot of an action must be below the phase's repeat of ")
             << phase->second << ", got: " << action;
  }
  return success();
}

} // namespace dtcc
