//===- Watch.h - Ends waits for other ranks that are in vain -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank that has waited for a while asks its watch: has another rank failed, has its process ended, was this process
// told to end, has the wait been too long? Only waits that sleep (Wait.h) and waits for a GPU
// (runtime/cuda/collective/Watchdog.h) ask. Other waits pay nothing.
//
// A wait that asks is also told to the other ranks, as a note. The rank that reports a hang follows the notes of who
// waits for whom, and names the rank that did not come.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_WATCH_H
#define DTCC_RUNTIME_COLLECTIVE_WATCH_H

#include "runtime/collective/Membership.h"
#include "runtime/core/Error.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dtcc::rt {

/// The watch of one rank. Each backend overrides how it learns of other ranks.
class Watch {
public:
  /// `aborted` becomes the exit status of the first rank that fails; `interrupted` says whether SIGINT or SIGTERM
  /// came, or is null.
  Watch(const std::atomic<uint32_t> &aborted, int hangSeconds, bool (*interrupted)())
      : aborted(aborted), hangSeconds(hangSeconds), interrupted(interrupted) {}
  virtual ~Watch() = default;
  Watch(const Watch &) = delete;
  Watch &operator=(const Watch &) = delete;

  /// Reason for which a wait ends early.
  struct Reason {
    Status status;
    std::string why;
    /// Whether what was waited for belongs to the message.
    bool tellsWhat;

    Error error(const std::string &what) const { return {status, tellsWhat ? why + ": " + what : why}; }
  };
  /// The error that ends a wait of `seconds` until now, or nothing. Tells the others of the wait.
  std::optional<Error> check(double seconds, const Wait &wait);
  /// The reason to end a wait of `seconds` until now, or nothing. The caller must look once more for the awaited rank,
  /// and end the wait only if that rank has still not come: a process may end when it has done its part.
  std::optional<Reason> look(double seconds);
  /// Records a wait that ended well after `seconds`. A signal ends a wait only once that has lasted longer than earlier
  /// ones, so that a step which goes on is finished.
  void passed(double seconds);

  /// "rank 1 waits in all_reduce of group 'dp' for rank 2, at step 5, .."
  std::string text(const Wait &wait);

  /// Facts about another rank.
  struct Note {
    bool answers = true; /* false: its process is stopped, or cannot be reached */
    int64_t absent = -1; /* the rank that it waits for; -1: it waits for none */
    std::string text;    /* its wait */
    int64_t step = -1;   /* where it is in its program; 0: before the first step; -1: nobody knows */
    uint32_t command = Position::noCommand;
  };
  /// A line for each of `ranks` ranks with what it was last doing; empty if that cannot be found out, since nothing is
  /// to keep a rank from saying why it ends.
  std::string everyRank(int64_t ranks) noexcept;
  /// Puts commands into words, for everyRank; null: nobody does any more.
  void tellWhere(const Whereabouts *now) { where = now; }

protected:
  /// "rank 1's process (pid 123) has ended", or empty.
  virtual std::string lost() { return {}; }
  /// "rank 1 (host b, pid 123)": as much as is known.
  virtual std::string nameOf(int64_t rank) { return message("rank ", rank); }
  /// Tells the others of a wait, or, if null, that it has ended.
  virtual void tell(const Wait *) {}
  /// Nothing is known where ranks are threads of a process: they stop together.
  virtual std::optional<Note> noteOf(int64_t) { return std::nullopt; }
  /// Facts about all ranks, as far as they are known, by rank.
  virtual std::map<int64_t, Note> notes() { return {}; }

private:
  std::string hangText(const Wait &wait);
  std::string linesOf(int64_t ranks);
  std::optional<Reason> failed() const;

  const std::atomic<uint32_t> &aborted;
  int hangSeconds;
  bool (*interrupted)();
  std::atomic<const Whereabouts *> where{nullptr};
  std::atomic<int64_t> longest{0};  /* milliseconds, of the waits that ended well */
  std::atomic<int64_t> signalAt{0}; /* when the signal was seen first; 0: not yet */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_WATCH_H
