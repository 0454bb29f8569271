//===- ProgramCost.cpp - What a step of a compiled program takes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/options/ClusterOption.h"
#include "compiler/planning/ForecastProgram.h"
#include "runtime/abi/Cores.h"
#include "tools/dtcc-plan/RunForecast.h"
#include "tools/program/StepForecast.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace dtcc;

static cost::StepSeconds secondsOf(const ProgramFile &program, const StepClock &clock) {
  return stepSecondsOf(clock.busiest(), [&](uint32_t communicator) {
    std::string axes = "," + program.names(program.communicators()[communicator].axes) + ",";
    return llvm::StringRef(axes).contains(",tp,") || llvm::StringRef(axes).contains(",cp,");
  });
}

/// Bytes of a rank, of a preset or of this machine; 0: not known.
static double capacityOf(const ProgramFile &program, llvm::StringRef device, int64_t ranks) {
  if (program.gpuModules().empty())
    return cost::Machine::cpu(ranks, availableCores(), machineMemory()).memoryBytes();
  const cost::Device *preset = cost::findDevice(device.str());
  return preset ? preset->memoryBytes : 0;
}

llvm::Expected<RunForecast> dtcc::forecastProgram(const PlanOrProgram &file, double measured) {
  const ProgramFile &program = *file.program;
  RunForecast forecast;
  forecast.ranks = program.product(DTCC_AXIS_RANK);
  forecast.microbatches = program.product(DTCC_AXIS_TIME);
  llvm::Expected<StepClock> clock = forecastStep(program);
  if (!clock)
    return clock.takeError();
  forecast.step = secondsOf(program, *clock);
  for (const dtcc_stage &stage : program.stages()) {
    forecast.memoryBytes = std::max(forecast.memoryBytes, double(arenaBytes(program, stage)));
    forecast.hostBytes = std::max(forecast.hostBytes, double(arenaBytes(program, stage, /*onHost=*/true)));
  }
  llvm::StringRef machine = program.string(program.header().machine);
  forecast.note = ("forecast by the program's commands, for " + machine).str();
  if (measured > 0) {
    forecast.step = {};
    forecast.step.compute = measured;
    forecast.measured = true;
    forecast.note = "as measured";
  }
  for (const dtcc_state &state : program.states())
    if (state.role == DTCC_STATE_PARAMETER) {
      double elements = 1;
      for (const dtcc_dim &dim : llvm::ArrayRef(state.dims, state.rank))
        elements *= double(dim.size);
      forecast.parameters += elements;
    }
  forecast.itemsPerStep = double(program.header().training.batch);
  forecast.items = "samples";
  for (const dtcc_input &input : program.inputs())
    if (input.role == DTCC_INPUT_TOKENS && input.rank == 2) {
      forecast.items = "tokens";
      forecast.itemsPerStep = double(program.header().training.batch) * double(input.dims[1].size);
      break;
    }
  llvm::StringRef device = machine.split(" x ").second;
  forecast.capacity = capacityOf(program, device, forecast.ranks);
  forecast.device = program.gpuModules().empty() ? "rank of this machine" : device.str();
  forecast.fits = forecast.memoryBytes <= forecast.capacity;
  std::string mesh;
  for (const dtcc_axis &axis : program.axes())
    if (axis.kind == DTCC_AXIS_RANK)
      mesh += (" " + program.string(axis.name) + "=" + llvm::Twine(axis.size)).str();
  forecast.heading = llvm::formatv("Program {0}:{1}, {2} samples a step in {3} micro-batch{4}",
                                   llvm::sys::path::filename(file.path), mesh, program.header().training.batch,
                                   forecast.microbatches, forecast.microbatches == 1 ? "" : "es")
                         .str();
  return forecast;
}
