//===- ProcessTable.cpp - Which processes of a job are still there
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/ProcessTable.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace dtcc::rt {
namespace {

/// The offset of the table in the shared file, far behind all that other classes keep there.
constexpr uint64_t rollBegin = uint64_t(1) << 58;

/// A process that waits notes it every 50 ms. One that has not for so long is stopped.
constexpr int64_t staleMilliseconds = 2000;

int64_t milliseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/// Whether a process of this machine is stopped by a signal, or traced. One of another pid namespace is not found.
bool isStopped(int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  size_t end = stat.rfind(") ");
  return end != std::string::npos && end + 2 < stat.size() && (stat[end + 2] == 'T' || stat[end + 2] == 't');
}

} // namespace

ProcessTable::ProcessTable(const SharedFile &file, int64_t process, int64_t processes, int64_t rank)
    : file(file), me(process), processes(processes) {
  entries = static_cast<Entry *>(file.map(rollBegin, bytes()));
  file.lock(static_cast<uint64_t>(me));
  entries[me].rank = rank;
  entries[me].position.command = Position::noCommand; // the file holds zeros
  // Nobody is missed before he has his lock.
  entries[me].pid.store(getpid(), std::memory_order_release);
}

ProcessTable::~ProcessTable() { SharedFile::unmap(entries, bytes()); }

void ProcessTable::note(const Wait *wait, const std::string &text) {
  Entry &mine = entries[me];
  if (!wait) {
    mine.noted.store(0, std::memory_order_release);
    return;
  }
  mine.version.fetch_add(1, std::memory_order_acq_rel);
  size_t length = std::min(text.size(), sizeof(mine.text) - 1);
  std::memcpy(mine.text, text.data(), length);
  mine.text[length] = 0;
  mine.absent.store(wait->absent.empty() ? -1 : wait->absent.front());
  mine.version.fetch_add(1, std::memory_order_acq_rel);
  mine.noted.store(milliseconds(), std::memory_order_release);
}

std::optional<Watch::Note> ProcessTable::noteOf(int64_t rank) const {
  for (int64_t other = 0; other < processes; ++other) {
    const Entry &entry = entries[other];
    int64_t pid = entry.pid.load(std::memory_order_acquire);
    if (pid == 0 || entry.rank != rank)
      continue;
    Watch::Note note;
    int64_t noted = entry.noted.load(std::memory_order_acquire);
    note.answers = !isStopped(pid) && (noted == 0 || milliseconds() - noted < staleMilliseconds);
    note.step = entry.position.step.load(std::memory_order_relaxed);
    note.command = entry.position.command.load(std::memory_order_relaxed);
    if (noted == 0)
      return note;
    char text[sizeof entry.text];
    for (int attempts = 0; attempts < 100; ++attempts) {
      uint32_t version = entry.version.load(std::memory_order_acquire);
      std::memcpy(text, entry.text, sizeof text);
      note.absent = entry.absent.load();
      std::atomic_thread_fence(std::memory_order_acquire);
      if (version % 2 == 0 && version == entry.version.load(std::memory_order_relaxed))
        break;
    }
    text[sizeof text - 1] = 0;
    note.text = text;
    return note;
  }
  return std::nullopt;
}

std::map<int64_t, Watch::Note> ProcessTable::notes() const {
  std::map<int64_t, Watch::Note> all;
  for (int64_t process = 0; process < processes; ++process)
    if (entries[process].pid.load(std::memory_order_acquire) != 0)
      if (std::optional<Watch::Note> note = noteOf(entries[process].rank))
        all.emplace(entries[process].rank, *note);
  return all;
}

int64_t ProcessTable::pidOf(int64_t rank) const {
  for (int64_t other = 0; other < processes; ++other)
    if (entries[other].pid.load(std::memory_order_acquire) != 0 && entries[other].rank == rank)
      return entries[other].pid;
  return 0;
}

std::string ProcessTable::ended() const {
  for (int64_t other = 0; other < processes; ++other)
    if (int64_t pid = entries[other].pid.load(std::memory_order_acquire);
        other != me && pid != 0 && !file.isLocked(static_cast<uint64_t>(other)))
      return message("rank ", entries[other].rank, "'s process (pid ", pid, ") has ended");
  return {};
}

} // namespace dtcc::rt
