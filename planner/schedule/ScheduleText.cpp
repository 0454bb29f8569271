//===- ScheduleText.cpp - Pipeline schedules as files and as charts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "planner/schedule/Schedule.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

namespace dtcc::plan {

/// Reads "12F3" at the front of `text`; false if it is something else.
static bool consumeAction(llvm::StringRef &text, Action &action) {
  llvm::StringRef rest = text;
  if (rest.consumeInteger(10, action.stage) || rest.empty())
    return false;
  char letter = rest.front();
  if (!llvm::StringRef("FIWB").contains(letter))
    return false;
  action.work = static_cast<Work>(letter);
  rest = rest.drop_front();
  if (rest.consumeInteger(10, action.microbatch) || action.stage < 0 || action.microbatch < 0 || action.stage > 65535 ||
      action.microbatch > 1048575)
    return false;
  text = rest;
  return true;
}

/// "3UNSHARD", "0SEND_F1": what the compiler decides itself.
static bool isPlacedByCompiler(llvm::StringRef cell) {
  int64_t stage;
  if (cell.consumeInteger(10, stage))
    return false;
  cell = cell.rtrim("0123456789");
  for (const char *name : {"UNSHARD", "RESHARD", "REDUCE_GRAD", "SEND_F", "RECV_F", "SEND_B", "RECV_B"})
    if (cell == name)
      return true;
  return false;
}

/// One cell: an action, or two that PyTorch would overlap: "(0F3;1B2)OVERLAP_F_B".
static bool readCell(llvm::StringRef cell, std::vector<Action> &actions) {
  Action action;
  if (cell.consume_front("(")) {
    if (!cell.consume_back("OVERLAP_F_B") || !cell.consume_back(")"))
      return false;
    llvm::SmallVector<llvm::StringRef> parts;
    cell.split(parts, ';');
    for (llvm::StringRef part : parts) {
      if (!consumeAction(part, action) || !part.empty())
        return false;
      actions.push_back(action);
    }
    return true;
  }
  if (!consumeAction(cell, action) || !cell.empty())
    return false;
  actions.push_back(action);
  return true;
}

llvm::Expected<Schedule> parseScheduleCsv(llvm::StringRef text, llvm::StringRef file) {
  Schedule schedule;
  llvm::SmallVector<llvm::StringRef> lines, cells;
  text.split(lines, '\n');
  for (size_t line = 0; line < lines.size(); ++line) {
    llvm::StringRef content = lines[line].trim();
    // Only the end of the file may hold empty lines: a line is a rank.
    if (content.empty() && text.rtrim().size() <= static_cast<size_t>(lines[line].data() - text.data()))
      continue;
    std::vector<Action> &actions = schedule.ranks.emplace_back();
    cells.clear();
    content.split(cells, ',');
    for (size_t i = 0; i < cells.size(); ++i) {
      llvm::StringRef cell = cells[i].trim(" \t\"");
      if (cell.empty() || isPlacedByCompiler(cell))
        continue;
      if (!readCell(cell, actions))
        return llvm::createStringError(file + ":" + llvm::Twine(line + 1) + ": cell " + llvm::Twine(i + 1) +
                                       " must be a stage, one of F I W B, and a micro-batch, as 0F1, got: " + cell);
    }
  }
  std::vector<int64_t> homes = schedule.homes();
  if (homes.empty())
    return llvm::createStringError(file + ": a schedule must hold actions, got none");
  for (size_t stage = 0; stage < homes.size(); ++stage)
    if (homes[stage] < 0)
      return llvm::createStringError(file + ": stage " + llvm::Twine(stage) + " must have actions, got none");
  return schedule;
}

std::string scheduleChart(const Schedule &schedule, size_t width) {
  Timeline timeline = timelineOf(schedule);
  bool several = schedule.stages() > static_cast<int64_t>(schedule.ranks.size());
  auto label = [&](const Action &action) {
    std::string text = action.str();
    return several ? text : text.substr(text.find(static_cast<char>(action.work)));
  };
  size_t cell = 0;
  for (const auto &actions : schedule.ranks)
    for (const Action &action : actions)
      cell = std::max(cell, label(action).size() + 1);
  std::string text;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::string line = "rank " + std::to_string(rank) + " |";
    const std::vector<int64_t> &begins = timeline.begins[rank];
    bool cut = false, longer = false; // the action that began a step before takes two
    for (int64_t time = 0, i = 0; time < timeline.end && !cut; ++time) {
      std::string entry = longer ? "-" : ".";
      longer = false;
      if (i < static_cast<int64_t>(begins.size()) && begins[i] == time) {
        const Action &action = schedule.ranks[rank][i++];
        entry = label(action);
        longer = action.work == Work::Backward;
      }
      cut = line.size() + cell + 3 > width;
      line += cut ? " .." : std::string(cell - entry.size(), ' ') + entry;
    }
    text += line + "\n";
  }
  return text;
}

} // namespace dtcc::plan
