//===- HostNotes.h - What the ranks of a host do, as a message -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank that says why a run ends asks ranks of other hosts what they were doing. Each answers for all ranks of its
// host, by the notes that lie in the memory they share: so one that is stopped is known as well, as long as another of
// its host answers.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_COLLECTIVE_NETWORK_HOSTNOTES_H
#define DTCC_RUNTIME_COLLECTIVE_NETWORK_HOSTNOTES_H

#include "runtime/collective/Watch.h"

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace dtcc::rt {

/// Notes by rank, as the bytes of an answer.
std::vector<std::byte> bytesOf(const std::map<int64_t, Watch::Note> &notes);

/// Answers of several ranks.
class GatheredNotes {
public:
  /// The answer of `from`. What cannot be read of it is left out.
  void add(int64_t from, std::span<const std::byte> answer);
  /// Number of ranks that have answered.
  size_t answers() const { return answered.size(); }
  /// A note of each of `ranks`: its own, or that of another rank of its host. One of which nobody knows does not
  /// answer. `always`: a rank that is well answers whatever it does, so one that has not does not.
  std::map<int64_t, Watch::Note> notes(std::span<const int64_t> ranks, bool always) const;

private:
  std::set<int64_t> answered;
  std::map<int64_t, Watch::Note> own, ofOthers; /* by the rank that they are about */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_COLLECTIVE_NETWORK_HOSTNOTES_H
