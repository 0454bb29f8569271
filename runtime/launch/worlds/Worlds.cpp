//===- Worlds.cpp - The plans of a program, by number of ranks -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/worlds/Worlds.h"

#include "runtime/abi/Cores.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <set>

namespace dtcc::rt {

Worlds::Worlds(std::span<const dtcc_world> given) : rows(given.begin(), given.end()) {
  std::sort(rows.begin(), rows.end(), [](const dtcc_world &a, const dtcc_world &b) { return a.ranks < b.ranks; });
}

const dtcc_world &Worlds::choose(const Launch &launch, int64_t asked) const {
  const bool isFree = launch.launcher.empty() && asked == 0;
  const int64_t wanted = isFree ? availableCores() : asked > 0 ? asked : launch.processes;
  const dtcc_world *best = &rows.front();
  for (const dtcc_world &world : rows)
    if (isFree ? world.ranks <= wanted : world.ranks == wanted)
      best = &world;
  return *best;
}

/// The numbers, with `last` between the last two and ", " between the others.
static std::string listOf(const std::set<int64_t> &numbers, const std::string &last) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : number == *numbers.rbegin() ? last : ", ") + std::to_string(number);
  return text;
}

std::set<int64_t> Worlds::numbers() const {
  std::set<int64_t> all;
  for (const dtcc_world &world : rows)
    all.insert(world.ranks);
  return all;
}

std::string Worlds::text() const { return listOf(numbers(), " or ") + (rows.back().ranks == 1 ? " rank" : " ranks"); }

static std::string startedText(const std::string &launcher, int64_t processes) {
  return message(launcher, " started ", processes, processes == 1 ? " process" : " processes");
}

void Worlds::check(const Launch &launch, int64_t asked) const {
  const bool isStarted = !launch.launcher.empty() && launch.launcher != "hand";
  const int64_t wanted = isStarted ? launch.processes : asked;
  if (isStarted && asked > 0 && asked != wanted)
    failWith(Status::Usage, "--ranks says ", asked, ", and ", startedText(launch.launcher, wanted));
  std::set<int64_t> there = numbers();
  if (wanted == 0 || there.count(wanted))
    return;
  const std::string said = isStarted ? startedText(launch.launcher, wanted) : message("--ranks says ", wanted);
  if (there.size() == 1)
    fail("the plan has ", text(), ", and ", said, ": start ", rows[0].ranks, ", or compile for ", wanted);
  std::string with;
  there.insert(wanted);
  for (int64_t number : there)
    with += (with.empty() ? "" : ",") + std::to_string(number);
  fail("the program has plans for ", text(), ", and ", said,
       ": start one of these numbers, or compile with dtcc --worlds=", with);
}

} // namespace dtcc::rt
