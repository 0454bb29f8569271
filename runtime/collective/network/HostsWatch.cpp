//===- HostsWatch.cpp - The watch of a process in a run ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/network/HostsWatch.h"

namespace dtcc::rt {

bool HostsWatch::sharesMemory(int64_t other) const {
  return table && (places.empty() || places[static_cast<size_t>(other)].host == places[static_cast<size_t>(rank)].host);
}

std::string HostsWatch::lost() {
  if (std::string gone = table ? table->ended() : std::string(); !gone.empty())
    return gone;
  return link && link->lost() >= 0 ? "the connection to " + nameOf(link->lost()) + " has ended" : std::string();
}

std::string HostsWatch::nameOf(int64_t other) {
  if (!places.empty()) {
    const Place &place = places[static_cast<size_t>(other)];
    return message("rank ", other, " (host ", place.host.name, ", pid ", place.pid, ")");
  }
  const int64_t pid = table ? table->pidOf(other) : 0;
  return pid ? message("rank ", other, " (pid ", pid, ")") : Watch::nameOf(other);
}

void HostsWatch::tell(const Wait *wait) {
  if (table)
    table->note(wait, wait ? text(*wait) : std::string());
}

std::optional<Watch::Note> HostsWatch::noteOf(int64_t other) {
  if (sharesMemory(other))
    return table->noteOf(other);
  return link ? link->ask({{other}})[other] : Note();
}

std::map<int64_t, Watch::Note> HostsWatch::notes() {
  std::map<int64_t, Note> all = near();
  all[rank].answers = true;
  std::vector<int64_t> far;
  for (int64_t other = 0; other < static_cast<int64_t>(places.size()); ++other)
    if (other != rank && !sharesMemory(other))
      far.push_back(other);
  if (link && !far.empty())
    all.merge(link->ask(far));
  return all;
}

} // namespace dtcc::rt
