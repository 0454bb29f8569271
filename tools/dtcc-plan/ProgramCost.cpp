//===- ProgramCost.cpp - What a step of a compiled program takes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Planning.h"
#include "tools/dtcc-plan/RunForecast.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <thread>

using namespace dtcc;

/// A GPU of an architecture, as good as any other that the program does not name.
static const char *deviceOf(uint32_t architecture) {
  static constexpr std::pair<uint32_t, const char *> kDevices[] = {
      {100, "b200"}, {90, "h100"}, {89, "l4"}, {80, "a100"}};
  for (auto [oldest, device] : kDevices)
    if (architecture >= oldest)
      return device;
  return "a100";
}

/// What carries the program out: GPUs, or the cores of this machine.
static cost::Machine machineOf(const ProgramFile &program, int64_t ranks, unsigned cores) {
  std::string error;
  if (!program.gpuModules().empty())
    if (std::optional<cost::Cluster> cluster = cost::parseCluster(
            std::to_string(ranks) + "x" + deviceOf(program.gpuModules().front().architecture), error))
      return cost::Machine::of(*cluster);
  return cost::Machine::cpu(ranks, cores, machineMemory());
}

/// Of the factors of a product: what it reads first.
static cost::Width widthOf(const ProgramFile &program, const dtcc_command &command) {
  llvm::ArrayRef<uint32_t> operands = program.operands(command);
  bool half = !operands.empty() && dtcc_dtype_size(program.views()[operands[0]].dtype) == 2;
  return half ? cost::Width::B16 : cost::Width::F32;
}

/// Of what an update reads and writes of its host's memory, both ways at once.
static double secondsOverLink(const ProgramFile &program, const dtcc_command &command, const cost::Machine &machine) {
  double bytes = 0, link = machine.device.hostLink.bytesPerSecond;
  for (uint32_t view : program.operands(command))
    if (const dtcc_view &row = program.views()[view]; program.isOnHost(program.arenas()[row.arena]))
      bytes += double(viewBytes(row));
  return bytes > 0 ? bytes / (link * machine.constants.hostLink * machine.constants.hostLinkBoth) : 0;
}

/// Work and messages of a stage, one after the other.
static cost::StepSeconds secondsOf(const ProgramFile &program, const dtcc_stage &stage, const cost::Machine &machine) {
  cost::StepSeconds seconds;
  llvm::ArrayRef<dtcc_action> actions = ProgramFile::rowsOf(stage.actions, program.actions());
  for (size_t i = 0; i < actions.size(); ++i) {
    const dtcc_phase &phase = program.phases()[actions[i].phase];
    bool last = llvm::none_of(actions.drop_front(i + 1),
                              [&](const dtcc_action &later) { return later.phase == actions[i].phase; });
    for (const dtcc_command &command : program.commands().slice(phase.first_command, phase.command_count)) {
      if (command.last_slot && !last)
        continue;
      if (command.kind != DTCC_COLLECTIVE && command.kind != DTCC_SEND && command.kind != DTCC_RECEIVE) {
        seconds.compute += std::max(secondsOverLink(program, command, machine),
                                    machine.secondsForWork(command.flops, command.bytes, widthOf(program, command)));
        continue;
      }
      uint64_t bytes = 0;
      for (uint32_t view : program.operands(command))
        bytes = std::max(bytes, viewBytes(program.views()[view]));
      int64_t ranks = program.extent(program.communicators()[command.communicator].axes);
      // A ring sends (n - 1) / n of the bytes once, an all-reduce twice.
      bool twice = command.kind == DTCC_COLLECTIVE && command.op == DTCC_ALL_REDUCE;
      double sent = command.kind == DTCC_COLLECTIVE
                        ? double(bytes) * (twice ? 2 : 1) * double(ranks - 1) / double(std::max<int64_t>(ranks, 1))
                        : double(bytes);
      bool between = command.kind != DTCC_COLLECTIVE;
      (between ? seconds.stages : seconds.data) +=
          between ? machine.secondsToSend(sent, 1) : machine.secondsForSent(sent, {ranks, 1});
    }
  }
  return seconds;
}

RunForecast dtcc::forecastProgram(const PlanOrProgram &file, double measured) {
  const ProgramFile &program = *file.program;
  RunForecast forecast;
  forecast.ranks = program.product(DTCC_AXIS_RANK);
  forecast.microbatches = program.product(DTCC_AXIS_TIME);
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  cost::Machine machine = machineOf(program, forecast.ranks, cores);
  for (const dtcc_stage &stage : program.stages()) {
    if (cost::StepSeconds seconds = secondsOf(program, stage, machine); seconds.total() > forecast.step.total())
      forecast.step = seconds;
    forecast.memoryBytes = std::max(forecast.memoryBytes, double(arenaBytes(program, stage)));
    forecast.hostBytes = std::max(forecast.hostBytes, double(arenaBytes(program, stage, /*onHost=*/true)));
  }
  std::string devices = machine.isCpu() ? std::to_string(cores) + " cores of this machine"
                                        : std::to_string(forecast.ranks) + " x " + machine.device.name;
  forecast.note = "forecast for the " + devices + " from the program's tables";
  if (file.plan && file.plan->pipeline) {
    llvm::Expected<plan::Schedule> schedule = file.plan->schedule();
    if (schedule) {
      double waits = plan::timelineOf(*schedule).bubble(*schedule);
      forecast.step.bubble = forecast.step.total() * waits / (1 - waits);
    } else { // plans are checked when they are read
      llvm::consumeError(schedule.takeError());
    }
  }
  if (measured > 0) {
    forecast.step = {};
    forecast.step.compute = measured;
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
  forecast.items = "examples";
  for (const dtcc_input &input : program.inputs())
    if (input.role == DTCC_INPUT_TOKENS && input.rank == 2) {
      forecast.items = "tokens";
      forecast.itemsPerStep = double(program.header().training.batch) * double(input.dims[1].size);
      break;
    }
  forecast.capacity = machine.memoryBytes();
  forecast.device = machine.isCpu() ? "rank of this machine" : machine.device.name;
  forecast.fits = forecast.memoryBytes <= forecast.capacity;
  std::string mesh;
  for (const dtcc_axis &axis : program.axes())
    if (axis.kind == DTCC_AXIS_RANK)
      mesh += (" " + program.string(axis.name) + "=" + llvm::Twine(axis.size)).str();
  forecast.heading =
      llvm::formatv("Program {0}:{1}, {2} examples a step in {3} micro-batches", llvm::sys::path::filename(file.path),
                    mesh, program.header().training.batch, forecast.microbatches)
          .str();
  return forecast;
}
