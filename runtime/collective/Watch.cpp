//===- Watch.cpp - Ends waits for other ranks that are in vain -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Watch.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace dtcc::rt {
namespace {

/// Milliseconds for which a rank waits on after a signal. Launchers kill some 30 s after theirs, and the rank must say
/// before why it ends.
constexpr int64_t leastPatience = 5000, mostPatience = 20000;

int64_t milliseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

} // namespace

std::optional<Watch::Reason> Watch::failed() const {
  uint32_t status = aborted.load(std::memory_order_acquire);
  if (status == 0)
    return std::nullopt;
  if (status == static_cast<uint32_t>(Status::Interrupted))
    return Reason{Status::Interrupted, "stopped: another rank was interrupted", false};
  return Reason{Status::PeerLost, "stopped: another rank failed", false};
}

std::optional<Watch::Reason> Watch::look(double seconds) {
  if (auto reason = failed())
    return reason;
  if (std::string gone = lost(); !gone.empty()) {
    // A process that ends says why first, if it can, so its reason may be there by now.
    if (auto reason = failed())
      return reason;
    return Reason{Status::PeerLost, gone, true};
  }
  if (interrupted && interrupted()) {
    int64_t now = milliseconds(), unseen = 0;
    signalAt.compare_exchange_strong(unseen, now);
    int64_t patience = std::clamp(2 * longest.load(std::memory_order_relaxed), leastPatience, mostPatience);
    if (std::min(now - signalAt.load(), static_cast<int64_t>(seconds * 1e3)) > patience)
      return Reason{Status::Interrupted, "interrupted while waiting", true};
  }
  if (seconds > hangSeconds)
    return Reason{Status::Hang, message("no progress for ", hangSeconds, " s"), true};
  return std::nullopt;
}

std::optional<Error> Watch::check(double seconds, const Wait &wait) {
  tell(&wait);
  std::optional<Reason> reason = look(seconds);
  if (!reason)
    return std::nullopt;
  if (reason->status == Status::Hang)
    return Error(Status::Hang, reason->why + ": " + hangText(wait));
  return reason->error(text(wait));
}

std::string Watch::text(const Wait &wait) {
  std::string names;
  for (int64_t rank : wait.absent)
    names += (names.empty() ? "" : ", ") + nameOf(rank);
  std::string where = wait.where.empty() ? "" : ", at " + wait.where;
  return message("rank ", wait.rank, " waits in ", wait.what, " for ", names, where);
}

std::string Watch::hangText(const Wait &wait) {
  // Follows who waits for whom. `isSure` becomes false if the last rank does not wait.
  auto follow = [&](bool &isSure) {
    isSure = true;
    std::string said = text(wait);
    std::vector<int64_t> seen{wait.rank}, next = wait.absent;
    while (true) {
      // Among all absent ranks, one that waits for nobody is the reason, and before it one that does not answer.
      std::optional<Note> worst;
      int64_t rank = -1;
      auto weight = [](const Note &note) { return !note.answers ? 2 : note.absent < 0 ? 1 : 0; };
      for (int64_t each : next)
        if (std::optional<Note> note = noteOf(each); note && (!worst || weight(*note) > weight(*worst))) {
          worst = note;
          rank = each;
        }
      if (!worst)
        return said;
      if (!worst->answers)
        return said + "; " + nameOf(rank) + " does not answer";
      if (worst->absent < 0) {
        isSure = false;
        return said + "; " + nameOf(rank) + " did not come";
      }
      said += "; " + worst->text;
      if (std::find(seen.begin(), seen.end(), rank) != seen.end())
        return said;
      seen.push_back(rank);
      next = {worst->absent};
    }
  };
  bool isSure = true;
  std::string said = follow(isSure);
  // On a busy machine a rank may only just have begun to wait for the one that is missing.
  for (int again = 0; again < 3 && !isSure; ++again) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    said = follow(isSure);
  }
  return said;
}

std::string Watch::everyRank(int64_t ranks) noexcept {
  try {
    return linesOf(ranks);
  } catch (const std::exception &) {
    return {};
  }
}

std::string Watch::linesOf(int64_t ranks) {
  // Most ranks that get a line each. Of more ranks those that wait are counted.
  constexpr int64_t mostLines = 64;
  const Whereabouts *words = where;
  const std::map<int64_t, Note> all = notes();
  std::string lines;
  int64_t waiting = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto found = all.find(rank);
    Note note = found == all.end() ? Note{/*answers=*/false, -1, {}} : found->second;
    std::string doing;
    if (note.answers && !note.text.empty()) {
      if (++waiting; ranks > mostLines)
        continue;
      // "rank 1 waits in .."
      const size_t verb = note.text.find(" waits ");
      doing = verb == std::string::npos ? note.text : note.text.substr(verb + 1);
    } else {
      doing = note.answers ? "does not wait" : "does not answer";
      if (note.step > 0)
        doing += "; was last at " + (words ? words->textAt(note.step, note.command) : message("step ", note.step));
      else if (note.step == 0)
        doing += "; has begun no step";
    }
    lines += "\n  " + nameOf(rank) + ": " + doing;
  }
  return ranks > mostLines ? message("\n  ", waiting, " of ", ranks, " ranks wait for others", lines) : lines;
}

void Watch::passed(double seconds) {
  tell(nullptr);
  auto mine = static_cast<int64_t>(seconds * 1e3);
  int64_t most = longest.load(std::memory_order_relaxed);
  while (mine > most && !longest.compare_exchange_weak(most, mine, std::memory_order_relaxed))
    ;
}

} // namespace dtcc::rt
