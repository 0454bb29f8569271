//===- ProcessTable.h - Which processes of a job are still there
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each process locks a byte of the job's shared file. The system gives the lock back when
// the process ends, however it ends; so whoever looks knows, whether or not the two see
// each other's numbers, and however soon a number is used again.
//
// Beside it lies what the process last waited for, which others read when they report a hang.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_PROCESSTABLE_H
#define DTCC_RUNTIME_COLLECTIVE_PROCESSTABLE_H

#include "runtime/collective/SharedFile.h"
#include "runtime/collective/Watch.h"

#include <atomic>

namespace dtcc::rt {

class ProcessTable {
public:
  /// Enters this process, number `process` of `processes` of the file, which runs `rank`. `file` outlives it.
  ProcessTable(const SharedFile &file, int64_t process, int64_t processes, int64_t rank);
  ~ProcessTable();
  ProcessTable(const ProcessTable &) = delete;
  ProcessTable &operator=(const ProcessTable &) = delete;

  /// This process ends, and has said why: nobody is to miss it.
  void leave() noexcept { entries[me].pid.store(0, std::memory_order_release); }

  /// "rank 1's process (pid 123) has ended", or empty if all who entered and did not leave are there.
  std::string ended() const;

  /// Notes what this process waits for, again and again while it waits; null: it goes on.
  void note(const Wait *wait, const std::string &text);
  /// Facts about `rank`; nothing if its process is not here.
  std::optional<Watch::Note> noteOf(int64_t rank) const;
  /// Facts about all ranks that are here.
  std::map<int64_t, Watch::Note> notes() const;
  /// The place at which this process says how far it is.
  Position &position() { return entries[me].position; }
  /// Number of the process that runs `rank`, or 0.
  int64_t pidOf(int64_t rank) const;

private:
  struct Entry {
    std::atomic<int64_t> pid; /* 0: not entered yet */
    int64_t rank;
    /// When it noted its wait last, in milliseconds of the machine's clock; 0: it does not wait.
    std::atomic<int64_t> noted;
    std::atomic<int64_t> absent;
    Position position;
    std::atomic<uint32_t> version; /* odd while the text changes */
    char text[460];
  };
  uint64_t bytes() const { return (static_cast<uint64_t>(processes) * sizeof(Entry) + 4095) / 4096 * 4096; }

  const SharedFile &file;
  int64_t me, processes;
  Entry *entries;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_PROCESSTABLE_H
