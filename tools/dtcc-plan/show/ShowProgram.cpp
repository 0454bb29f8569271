//===- ShowProgram.cpp - The tables of a program for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Collectives.h"
#include "runtime/abi/UpdateGroups.h"
#include "tools/dtcc-plan/show/Alike.h"
#include "tools/dtcc-plan/show/Show.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace dtcc;

static void printMemory(const ProgramFile &program, const dtcc_stage &stage, llvm::raw_ostream &stream) {
  stream << '\n';
  bool several = program.stages().size() > 1;
  std::string of = several ? "Memory of a rank of " + program.string(stage.name).str() : "Memory of a rank";
  printHeading(stream, of + (program.gpuModules().empty() ? "" : ", on its GPU"));
  TextTable table({"arena", ">bytes", ">"});
  auto add = [&](llvm::StringRef name, uint64_t bytes) {
    table.add({name.str(), formatCount(bytes), formatBytes(double(bytes))});
  };
  for (const dtcc_arena &arena : ProgramFile::rowsOf(stage.arenas, program.arenas()))
    if (!program.isOnHost(arena))
      add(program.string(arena.name), arena.bytes);
  add("all", arenaBytes(program, stage));
  if (uint64_t bytes = arenaBytes(program, stage, /*onHost=*/true))
    add("with its host", bytes);
  table.print(stream);
}

static std::string describeLayout(const ProgramFile &program, const dtcc_state &state) {
  std::string text;
  for (uint32_t i = 0; i < state.rank; ++i)
    if (program.extent(state.dims[i].axes) > 1)
      text +=
          (text.empty() ? "" : ", ") + llvm::formatv("dim {0} over {1}", i, program.names(state.dims[i].axes)).str();
  return text.empty() ? "whole" : text;
}

namespace {
/// Sums over the states of a stage that have one role and one layout.
struct StateGroup {
  std::set<uint32_t> buckets;
  uint64_t states = 0, elements = 0, local = 0;
  void add(const ProgramFile &program, const dtcc_state &state);
};
} // namespace

void StateGroup::add(const ProgramFile &program, const dtcc_state &state) {
  uint64_t whole = 1, part = 1;
  for (const dtcc_dim &dim : llvm::ArrayRef(state.dims, state.rank)) {
    whole = llvm::SaturatingMultiply(whole, uint64_t(dim.size));
    part = llvm::SaturatingMultiply(part, uint64_t(dim.padded / program.extent(dim.axes)));
  }
  if (state.bucket != DTCC_NONE) {
    buckets.insert(state.bucket);
    // A bucket that is cut flat holds a share of everything in it.
    part = llvm::divideCeil(part, uint64_t(program.extent(program.buckets()[state.bucket].flat)));
  }
  ++states;
  elements = llvm::SaturatingAdd(elements, whole);
  local = llvm::SaturatingAdd(local, part);
}

static std::string roleOf(const dtcc_state &state) {
  static constexpr const char *roles[] = {"parameter", "buffer", "optimizer state", "compute copy"};
  return state.role == DTCC_STATE_PARAMETER && !state.trainable ? "frozen parameter" : roles[state.role];
}

/// A title or a cell for the stage, where there are several.
static std::vector<std::string> withStage(const ProgramFile &program, std::string stage,
                                          std::vector<std::string> cells) {
  if (program.stages().size() > 1)
    cells.insert(cells.begin(), std::move(stage));
  return cells;
}

/// The number of the stage that runs a phase.
static std::string stageOfPhase(const ProgramFile &program, size_t phase) {
  for (const auto &[number, stage] : llvm::enumerate(program.stages()))
    if (phase - stage.phases.first < stage.phases.count)
      return std::to_string(number);
  return "";
}

/// The layout of a state, and the axes over which its bucket is sharded.
static std::string describeWholeLayout(const ProgramFile &program, const dtcc_state &state) {
  std::string layout = describeLayout(program, state);
  if (state.bucket != DTCC_NONE)
    if (const dtcc_axes &flat = program.buckets()[state.bucket].flat; program.extent(flat) > 1)
      layout += "; sharded over " + program.names(flat);
  return layout;
}

static void printStates(const ProgramFile &program, llvm::raw_ostream &stream) {
  stream << '\n';
  printHeading(stream, "States by layout");
  TextTable table(withStage(program, "stage", {"role", "layout", ">buckets", ">states", ">elements", ">on a rank"}));
  for (const auto &[number, stage] : llvm::enumerate(program.stages())) {
    Groups<std::pair<std::string, std::string>, StateGroup> groups;
    for (const dtcc_state &state : ProgramFile::rowsOf(stage.states, program.states())) {
      groups[{roleOf(state), describeWholeLayout(program, state)}].add(program, state);
    }
    for (const auto &[key, group] : groups)
      table.add(withStage(program, std::to_string(number),
                          {key.first, key.second, formatCount(group.buckets.size()), formatCount(group.states),
                           formatCount(group.elements), formatCount(group.local)}));
  }
  table.print(stream);
}

/// A row for parameters that are laid out alike in the same layers.
static void printLayers(const ProgramFile &program, llvm::raw_ostream &stream) {
  stream << '\n';
  printHeading(stream, "Parameters by layer");
  TextTable table(withStage(program, "stage", {"layers", "layout", ">elements", ">on a rank", "parameters"}));
  for (const auto &[number, stage] : llvm::enumerate(program.stages())) {
    std::vector<NamedText> list;
    std::vector<const dtcc_state *> states;
    for (const dtcc_state &state : ProgramFile::rowsOf(stage.states, program.states()))
      if (state.role == DTCC_STATE_PARAMETER) {
        list.push_back({program.string(state.name).str(), describeWholeLayout(program, state)});
        states.push_back(&state);
      }
    for (const AlikeRow &row : groupAlike(list)) {
      StateGroup sum;
      for (size_t item : row.items)
        sum.add(program, *states[item]);
      table.add(withStage(program, std::to_string(number),
                          {row.layers, row.text, formatCount(sum.elements), formatCount(sum.local), row.names}));
    }
  }
  table.print(stream);
}

/// "0.1", without zeros behind it.
static std::string shortNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

/// Lists parameters that train with other rates or decays than the rest.
static void printGroups(const ProgramFile &program, llvm::raw_ostream &stream) {
  std::vector<UpdateGroup> groups = updateGroups(
      {program.segments().data(), program.segments().size()}, {program.states().data(), program.states().size()},
      [&](const dtcc_state &state) { return program.string(state.name).str(); });
  if (groups.size() < 2)
    return;
  stream << '\n';
  printHeading(stream, "Parameter groups");
  TextTable table({">rate x", ">weight decay", ">tensors", ">elements", "parameters"});
  for (const UpdateGroup &group : groups)
    table.add({shortNumber(group.lrScale), shortNumber(group.decay), formatCount(group.names.size()),
               formatCount(group.cells), group.range()});
  table.print(stream);
}

/// "forward_backward x2 -> update".
static std::string drawActions(const ProgramFile &program, const dtcc_stage &stage) {
  // The chart of the plan shows long schedules better.
  constexpr size_t kShown = 24;
  std::string text;
  llvm::ArrayRef<dtcc_action> actions = ProgramFile::rowsOf(dtcc_step_actions(&stage), program.actions());
  for (size_t i = 0, next, shown = 0; i < actions.size(); i = next, ++shown) {
    if (shown == kShown)
      return text + " -> ..";
    for (next = i + 1; next < actions.size() && actions[next].phase == actions[i].phase;)
      ++next;
    text += (text.empty() ? "" : " -> ") + program.string(program.phases()[actions[i].phase].name).str();
    if (next - i > 1)
      text += " x" + std::to_string(next - i);
  }
  return text;
}

std::vector<uint64_t> dtcc::countRuns(const ProgramFile &program) {
  std::vector<uint64_t> runs(program.phases().size());
  for (const dtcc_stage &stage : program.stages())
    for (const dtcc_action &action : ProgramFile::rowsOf(dtcc_step_actions(&stage), program.actions()))
      ++runs[action.phase];
  return runs;
}

static llvm::ArrayRef<dtcc_command> commandsOf(const ProgramFile &program, const dtcc_phase &phase) {
  return program.commands().slice(phase.first_command, phase.command_count);
}

static void printWork(const ProgramFile &program, llvm::raw_ostream &stream) {
  stream << '\n';
  printHeading(stream, "A step on a rank");
  for (const dtcc_stage &stage : program.stages())
    stream << "  " << (program.stages().size() > 1 ? program.string(stage.name).str() + ": " : "")
           << drawActions(program, stage) << "\n";
  stream << '\n';
  TextTable table(
      withStage(program, "stage",
                {"phase", ">runs", ">kernels", ">library calls", ">collectives", ">copies", ">fills", ">GFLOP"}));
  std::vector<uint64_t> runs = countRuns(program);
  for (size_t i = 0; i < runs.size(); ++i) {
    const dtcc_phase &phase = program.phases()[i];
    // Phases that only evaluations and generation run.
    if (runs[i] == 0)
      continue;
    uint64_t counts[DTCC_RECEIVE + 1] = {};
    double flops = 0;
    for (const dtcc_command &command : commandsOf(program, phase)) {
      ++counts[command.kind];
      flops += command.flops;
    }
    table.add(withStage(program, stageOfPhase(program, i),
                        {program.string(phase.name).str(), std::to_string(runs[i]), formatCount(counts[DTCC_KERNEL]),
                         formatCount(counts[DTCC_LIBRARY]),
                         formatCount(counts[DTCC_COLLECTIVE] + counts[DTCC_SEND] + counts[DTCC_RECEIVE]),
                         formatCount(counts[DTCC_COPY]), formatCount(counts[DTCC_FILL]),
                         llvm::formatv("{0:f3}", flops * double(runs[i]) / 1e9).str()}));
  }
  table.print(stream);
}

static std::string nameOf(const dtcc_command &command) {
  if (command.kind == DTCC_COLLECTIVE)
    return std::string(collectiveInfo(command.op).mnemonic);
  return command.kind == DTCC_SEND ? "send" : "receive";
}

std::vector<CollectiveRow> dtcc::collectivesOf(const ProgramFile &program) {
  Groups<std::pair<uint32_t, std::pair<std::string, uint32_t>>, CollectiveRow> groups;
  std::vector<uint64_t> runs = countRuns(program);
  for (uint32_t i = 0; i < runs.size(); ++i)
    for (const dtcc_command &command : commandsOf(program, program.phases()[i])) {
      if (command.kind != DTCC_COLLECTIVE && command.kind != DTCC_SEND && command.kind != DTCC_RECEIVE)
        continue;
      // Bytes of the larger side: the operand of a reduction, the result of a gather.
      uint64_t bytes = 0;
      for (uint32_t view : program.operands(command))
        bytes = std::max(bytes, viewBytes(program.views()[view]));
      if (runs[i] == 0)
        continue;
      CollectiveRow &row = groups[{i, {nameOf(command), command.communicator}}];
      uint64_t times = command.only_slot != DTCC_NONE ? std::min<uint64_t>(1, runs[i]) : runs[i];
      row.phase = i;
      row.name = nameOf(command);
      row.communicator = command.communicator;
      row.count += times;
      row.bytes = llvm::SaturatingAdd(row.bytes, llvm::SaturatingMultiply(bytes, times));
    }
  std::vector<CollectiveRow> rows;
  for (const auto &[key, row] : groups)
    rows.push_back(row);
  return rows;
}

static void printCollectives(const ProgramFile &program, llvm::raw_ostream &stream) {
  std::vector<CollectiveRow> rows = collectivesOf(program);
  stream << '\n';
  printHeading(stream, "Collectives of a step, on a rank");
  if (rows.empty()) {
    stream << "  none\n";
    return;
  }
  TextTable table(withStage(program, "stage", {"phase", "collective", "over", ">ranks", ">times", ">bytes", ">"}));
  for (const CollectiveRow &row : rows) {
    const dtcc_axes &axes = program.communicators()[row.communicator].axes;
    table.add(withStage(program, stageOfPhase(program, row.phase),
                        {program.string(program.phases()[row.phase].name).str(), row.name, program.names(axes),
                         std::to_string(program.extent(axes)), formatCount(row.count), formatCount(row.bytes),
                         formatBytes(double(row.bytes))}));
  }
  table.print(stream);
}

void dtcc::printProgram(const ProgramFile &program, llvm::raw_ostream &stream) {
  for (const dtcc_stage &stage : program.stages())
    printMemory(program, stage, stream);
  printStates(program, stream);
  printLayers(program, stream);
  printGroups(program, stream);
  printWork(program, stream);
  printCollectives(program, stream);
}
