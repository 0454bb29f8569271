//===- ForecastProgram.cpp - What a step of a lowered program takes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/ForecastProgram.h"
#include "compiler/options/ClusterOption.h"
#include "compiler/options/CompileTarget.h"
#include "compiler/pipeline/RunPasses.h"
#include "dialects/exec/Exec.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/exec/MachinePass.h"
#include "passes/exec/Passes.h"
#include "passes/exec/commands/PriceCommands.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace dtcc;

cost::StepSeconds dtcc::stepSecondsOf(const StepClock::Parts &busiest, llvm::function_ref<bool(uint32_t)> isWithin) {
  cost::StepSeconds seconds;
  seconds.compute = busiest.compute;
  seconds.stages = busiest.messages;
  // Rounding may leave a little less than nothing.
  seconds.bubble = std::max(0.0, busiest.waits);
  for (auto [communicator, exposed] : busiest.collectives)
    (isWithin(communicator) ? seconds.tensor : seconds.data) += exposed;
  return seconds;
}

namespace {

/// The tables of a program that a clock reads, and the order of its commands.
class ClockTables {
public:
  void addStage(exec::ProgramOp program);
  FailureOr<cost::StepSeconds> run(Location where, bool overlaps) const;

private:
  struct Range {
    uint32_t first = 0, count = 0;
  };
  struct Stage {
    llvm::StringMap<Range> phases;
    std::vector<std::pair<StringRef, uint32_t>> actions;
  };
  uint32_t communicator(Operation *op);
  void addCommand(exec::CommandOpInterface op);

  std::vector<dtcc_command> commands;
  std::vector<dtcc_wait> waits;
  std::vector<int64_t> attributes;
  std::vector<dtcc_communicator> communicators;
  /// Whether a communicator joins ranks of tp or cp.
  std::vector<bool> within;
  llvm::StringMap<uint32_t> numbers;
  llvm::DenseMap<Value, uint32_t> eventCommands;
  std::vector<Stage> stages;
};

} // namespace

/// The number of the communicator that a command names.
uint32_t ClockTables::communicator(Operation *op) {
  return numbers.lookup(op->getAttrOfType<FlatSymbolRefAttr>("communicator").getValue());
}

void ClockTables::addCommand(exec::CommandOpInterface op) {
  dtcc_command row = {};
  row.kind = DTCC_KERNEL;
  row.communicator = row.only_slot = DTCC_NONE;
  row.stream = uint32_t(op.getStream());
  row.seconds = op->getAttrOfType<FloatAttr>(exec::kSecondsAttr).getValueAsDouble();
  row.first_attribute = uint32_t(attributes.size());
  if (auto collective = dyn_cast<exec::CollectiveOp>(op.getOperation())) {
    row.kind = DTCC_COLLECTIVE;
    row.communicator = communicator(op);
    row.only_slot = uint32_t(collective.getSlot().value_or(DTCC_NONE));
  } else if (isa<exec::SendOp, exec::ReceiveOp>(op.getOperation())) {
    auto send = dyn_cast<exec::SendOp>(op.getOperation());
    row.kind = send ? DTCC_SEND : DTCC_RECEIVE;
    row.communicator = communicator(op);
    attributes.push_back(op->getAttrOfType<IntegerAttr>("peer").getInt());
    if (send)
      attributes.push_back(int64_t(send.getRoom()));
  }
  row.first_wait = uint32_t(waits.size());
  for (Value event : op.getAfter())
    waits.push_back({eventCommands.lookup(event)});
  row.wait_count = uint32_t(waits.size()) - row.first_wait;
  for (Value event : op->getResults())
    eventCommands[event] = uint32_t(commands.size());
  commands.push_back(row);
}

void ClockTables::addStage(exec::ProgramOp program) {
  for (auto op : program.getOps<exec::CommunicatorOp>()) {
    if (!numbers.try_emplace(op.getSymName(), uint32_t(communicators.size())).second)
      continue;
    dtcc_communicator row = {};
    for (int64_t member : op.getMembers().value_or(ArrayRef<int64_t>()))
      row.members |= uint64_t(1) << member;
    communicators.push_back(row);
    within.push_back(
        llvm::any_of(spmd::toAxes(op.getAxes()), [](StringRef axis) { return axis == "tp" || axis == "cp"; }));
  }
  Stage &stage = stages.emplace_back();
  for (auto phase : program.getOps<exec::PhaseOp>()) {
    // A step runs no evaluation.
    if (spmd::isOfEvaluation(phase.getSymName()))
      continue;
    auto first = uint32_t(commands.size());
    for (auto command : phase.getOps<exec::CommandOpInterface>())
      addCommand(command);
    stage.phases[phase.getSymName()] = {first, uint32_t(commands.size()) - first};
    if (!program.getActionsAttr())
      for (uint32_t slot = 0; slot < phase.getRepeat(); ++slot)
        stage.actions.push_back({phase.getSymName(), slot});
  }
  if (spmd::RunsAttr actions = program.getActionsAttr())
    for (const PhaseRun &run : actions.getRuns())
      if (!spmd::isOfEvaluation(run.phase.getValue()))
        stage.actions.push_back({run.phase.getValue(), uint32_t(run.slot)});
}

FailureOr<cost::StepSeconds> ClockTables::run(Location where, bool overlaps) const {
  StepClock clock({commands.data(), waits.data(), attributes.data(), communicators.data()}, stages.size(), overlaps,
                  /*keepsSpans=*/false);
  for (auto [number, stage] : llvm::enumerate(stages))
    for (auto [phase, slot] : stage.actions) {
      Range range = stage.phases.lookup(phase);
      for (uint32_t command = range.first; command < range.first + range.count; ++command)
        if (const uint32_t only = commands[command].only_slot; only == DTCC_NONE || only == slot)
          clock.issue(number, command, slot);
      clock.endAction(number);
    }
  if (!clock.run())
    return emitError(where, "the step of the program never ends: a message is waited for that no stage sends"),
           failure();
  return stepSecondsOf(clock.busiest(), [&](uint32_t communicator) { return within[communicator]; });
}

FailureOr<cost::StepSeconds> dtcc::forecastProgram(ModuleOp module, const Options &options) {
  // Kernels are priced by what their code says of itself.
  OwningOpRef<ModuleOp> priced = module.clone();
  exec::ProgramOp first = *priced->getOps<exec::ProgramOp>().begin();
  spmd::Mesh mesh = spmd::toMesh(priced->lookupSymbol<spmd::MeshOp>(first.getMeshAttr()));
  FailureOr<ProgramMachine> machine = machineOf(options, mesh.ranks());
  if (failed(machine))
    return failure();
  bool isForGpus = targetOf(options).memory == DTCC_MEMORY_DEVICE;
  if (failed(runPasses(
          *priced, withoutShowing(options),
          [&](OpPassManager &passes) {
            passes.addPass(isForGpus ? exec::createGenerateGpuKernels() : exec::createGenerateKernels());
            passes.addPass(exec::createPriceCommandsFor(machine->machine));
          },
          /*verifies=*/false)))
    return failure();
  ClockTables tables;
  for (auto program : priced->getOps<exec::ProgramOp>())
    tables.addStage(program);
  return tables.run(module.getLoc(), isForGpus);
}
