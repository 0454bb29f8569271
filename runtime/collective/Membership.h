//===- Membership.h - Which ranks form a group -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks know themselves by numbers among all; a group's members by their place in it. Messages
// for people name ranks, hosts and what a rank was doing, so a communicator keeps all three.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_MEMBERSHIP_H
#define DTCC_RUNTIME_COLLECTIVE_MEMBERSHIP_H

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace dtcc::rt {

/// Step and command of a rank, for other ranks to read while it runs.
struct Position {
  static constexpr uint32_t noCommand = ~0u;
  std::atomic<int64_t> step{0};
  std::atomic<uint32_t> command{noCommand}; /* the last of the step that communicates, if it has begun one */
};

/// Activity of a rank, for messages. It is asked only when a wait has become long.
class Whereabouts {
public:
  virtual ~Whereabouts() = default;
  /// "step 5, phase 'forward', command 12 (all_reduce of wte)"
  virtual std::string text() const = 0;
  /// The text that text() gives, for any rank of the run that is at `command` of `step`.
  virtual std::string textAt(int64_t step, uint32_t command) const = 0;
};

/// A wait of one rank for others.
struct Wait {
  int64_t rank = 0;
  std::string what;            /* "all_reduce of group 'dp'" */
  std::vector<int64_t> absent; /* ranks */
  std::string where;           /* Whereabouts::text, or empty */
};

struct Membership {
  std::string name;
  std::vector<int64_t> ranks; /* by member */
  int64_t me = 0;             /* this handle's member */
  const Whereabouts *where = nullptr;

  /// The wait for the members `absent`, in `call`.
  Wait waiting(const std::string &call, const std::vector<int64_t> &absent) const {
    Wait wait{ranks[static_cast<size_t>(me)], call + " of group '" + name + "'", {}, where ? where->text() : ""};
    for (int64_t member : absent)
      wait.absent.push_back(ranks[static_cast<size_t>(member)]);
    return wait;
  }
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_MEMBERSHIP_H
