//===- StepForecast.cpp - Time of a compiled program's step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/program/StepForecast.h"
#include "llvm/ADT/STLExtras.h"

using namespace dtcc;

llvm::Expected<StepClock> dtcc::forecastStep(const ProgramFile &program) {
  StepClock clock(
      {program.commands().data(), program.waits().data(), program.attributes().data(), program.communicators().data()},
      program.stages().size(), /*overlaps=*/!program.gpuModules().empty(), /*keepsSpans=*/false);
  for (auto [stage, row] : llvm::enumerate(program.stages()))
    for (const dtcc_action &action : ProgramFile::rowsOf(dtcc_step_actions(&row), program.actions())) {
      const dtcc_phase &phase = program.phases()[action.phase];
      for (uint32_t number = phase.first_command; number < phase.first_command + phase.command_count; ++number)
        if (const uint32_t only = program.commands()[number].only_slot; only == DTCC_NONE || only == action.slot)
          clock.issue(stage, number, action.slot);
      clock.endAction(stage);
    }
  if (!clock.run())
    return llvm::createStringError("damaged program: its step never ends: a message is waited for that no stage sends");
  return std::move(clock);
}
