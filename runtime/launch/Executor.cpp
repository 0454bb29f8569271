//===- Executor.cpp - Runs the command table of one rank ------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Executor.h"

#include <algorithm>
#include <utility>

namespace dtcc::rt {

uint64_t arenaBytes(const Image &image, const dtcc_stage &stage) {
  uint64_t bytes = 0;
  for (const dtcc_arena &arena : rowsOf(stage.arenas, image.arenas()))
    bytes += image.isOnHost(arena) ? 0 : arena.bytes;
  return bytes;
}

uint64_t hostBytes(const Image &image, const dtcc_stage &stage) {
  uint64_t bytes = 0;
  for (const dtcc_arena &arena : rowsOf(stage.arenas, image.arenas()))
    bytes += image.isOnHost(arena) ? arena.bytes : 0;
  return bytes;
}

std::vector<bool> communicatorsOfStreams(const Image &image) {
  std::vector<bool> used(image.communicators().size());
  for (const dtcc_command &command : image.commands())
    if (command.stream != 0 && command.communicator != DTCC_NONE)
      used[command.communicator] = true;
  return used;
}

Executor::Executor(Rank &rank, Device &device) : rank(rank), device(device) {}

Executor::Place Executor::placeOf(uint32_t view) const {
  const dtcc_view &row = rank.image.views()[view];
  return {device.arena(row.arena) + rank.offset(view), slotMemoryOf(rank.image, row)};
}

void Executor::bind() {
  for (uint32_t i = 0; i < rank.stage.commands.count; ++i) {
    uint32_t number = rank.stage.commands.first + i;
    const dtcc_command &command = rank.image.commands()[number];
    Bound &bound = table.emplace_back();
    for (uint32_t view : rank.image.operands(command))
      bound.operands.push_back(placeOf(view));
    bound.buffers.resize(bound.operands.size());
    if (command.predicate != DTCC_NONE)
      bound.predicate = placeOf(command.predicate);
    device.bind(number);
  }
  for (uint32_t i = 0; i < rank.stage.phases.count; ++i) {
    const uint32_t phase = rank.stage.phases.first + i;
    const dtcc_phase &row = rank.image.phases()[phase];
    for (uint32_t number = row.first_command; number < row.first_command + row.command_count; ++number) {
      const dtcc_command &command = rank.image.commands()[number];
      // A message with a predicate, or of one slot, may turn out to be none.
      if (command.kind == DTCC_RECEIVE && command.only_slot == DTCC_NONE && command.predicate == DTCC_NONE)
        receives[phase].push_back(number);
    }
  }
  parts = findParts(dtcc_step_actions(&rank.stage));
  const dtcc_range &all = rank.stage.actions;
  evaluation = findParts({all.first + all.count - rank.stage.evaluation, rank.stage.evaluation});
  device.prepare();
}

void Executor::begin() { device.begin(); }

std::vector<Executor::Part> Executor::findParts(const dtcc_range &range) const {
  std::vector<Part> found;
  auto inputs = rowsOf(rank.stage.inputs, rank.image.inputs());
  bool reads = std::any_of(inputs.begin(), inputs.end(), [](auto &input) { return input.view != DTCC_NONE; });
  std::vector<bool> seen(static_cast<size_t>(rank.image.mesh().slots()));
  auto actions = rowsOf(range, rank.image.actions());
  for (size_t i = 0; i < actions.size(); ++i) {
    int64_t slot = actions[i].slot;
    bool isNew = !seen[static_cast<size_t>(slot)];
    seen[static_cast<size_t>(slot)] = true;
    if (found.empty() || (isNew && reads))
      found.push_back({actions.subspan(i, 0), {}});
    Part &part = found.back();
    part.actions = {part.actions.data(), part.actions.size() + 1};
    if (isNew)
      part.entered.push_back(slot);
  }
  return found;
}

void Executor::run(const std::vector<Part> &some, uint32_t firstNumber, int64_t slots, bool exchanges,
                   const std::function<void(int64_t)> &beforeSlot) {
  device.beginStep();
  if (some.empty())
    return;
  auto isRun = [this, slots, exchanges](const dtcc_action &action) {
    const uint32_t use = rank.image.phases()[action.phase].use;
    return action.slot < slots && (use == DTCC_PHASE_RUNS || (use == DTCC_PHASE_EXCHANGES_AVERAGES && exchanges));
  };
  // Parts lie one behind the other in the image.
  const dtcc_action *end = some.back().actions.data() + some.back().actions.size();
  auto expectFirstOf = [&](const dtcc_action *from) {
    if (const dtcc_action *next = std::find_if(from, end, isRun); next != end)
      expectMessages(*next);
  };
  expectFirstOf(some.front().actions.data());
  for (uint32_t number = 0; number < some.size(); ++number) {
    const Part &part = some[number];
    for (int64_t slot : part.entered)
      if (slot < slots) {
        rank.enterSlot(slot);
        beforeSlot(slot);
      }
    device.runPart(firstNumber + number, [&] {
      for (const dtcc_action &action : part.actions)
        if (isRun(action)) {
          expectFirstOf(&action + 1);
          runAction(action);
        }
    });
  }
}

void Executor::runStep(const std::function<void(int64_t)> &beforeSlot) {
  run(parts, 0, rank.image.mesh().slots(), /*exchanges=*/false, beforeSlot);
  areCopiesOld = true;
}

void Executor::runEvaluation(const std::function<void(int64_t)> &beforeSlot, bool ofAverages) {
  gatherCopies();
  run(evaluation, static_cast<uint32_t>(parts.size()), rank.image.mesh().slots(), ofAverages, beforeSlot);
}

void Executor::runFirstOfEvaluation(const std::function<void(int64_t)> &beforeSlot, bool ofAverages) {
  gatherCopies();
  run(evaluation, static_cast<uint32_t>(parts.size()), 1, ofAverages, beforeSlot);
}

void Executor::gatherCopies() {
  if (!std::exchange(areCopiesOld, false))
    return;
  for (const dtcc_action &action : rowsOf(rank.stage.actions, rank.image.actions()))
    if (rank.image.phases()[action.phase].use == DTCC_PHASE_GATHERS_PARAMETERS) {
      device.beginStep();
      device.runPart(static_cast<uint32_t>(parts.size() + evaluation.size() + 1), [&] { runAction(action); });
    }
}

void Executor::exchangeAverages() {
  // An evaluation begins with one.
  const dtcc_action &first = evaluation.front().actions.front();
  device.beginStep();
  device.runPart(static_cast<uint32_t>(parts.size() + evaluation.size()), [&] { runAction(first); });
}

void Executor::expectMessages(const dtcc_action &action) {
  if (const auto at = receives.find(action.phase); at != receives.end())
    device.expect(at->second);
}

void Executor::runAction(const dtcc_action &action) {
  const int64_t slot = action.slot;
  rank.enterSlot(slot);
  const dtcc_phase &phase = rank.image.phases()[action.phase];
  for (uint32_t number = phase.first_command; number < phase.first_command + phase.command_count; ++number) {
    if (const uint32_t only = rank.image.commands()[number].only_slot; only != DTCC_NONE && only != action.slot)
      continue;
    Bound &bound = table[number - rank.stage.commands.first];
    if (bound.slot != slot) {
      bound.slot = slot;
      std::transform(bound.operands.begin(), bound.operands.end(), bound.buffers.begin(),
                     [&](const Place &place) { return place.in(slot); });
      bound.flag = bound.predicate ? bound.predicate->in(slot) : nullptr;
    }
    device.run(number, bound.buffers.data(), bound.flag);
  }
  device.endAction();
}

} // namespace dtcc::rt
