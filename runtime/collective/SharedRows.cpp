//===- SharedRows.cpp - Rows to the members that want them ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The receiver fetches its rows: it reads the sender's list, so that nothing is packed
// where members are threads. Through a window each pair of members has a part of the
// sender's place, and as many rounds are run as the longest stream needs.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/SharedGroup.h"
#include "runtime/core/Error.h"
#include "runtime/core/ThreadTeam.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dtcc::rt {
namespace {

/// Data that a member offers to the others in an exchange.
struct Offer {
  const std::byte *rows;
  RowLists lists;
};

/// The rows of `peer` in a list that is ordered by peers.
std::span<const int64_t> rowsOf(std::span<const int64_t> rows, std::span<const int64_t> counts, int64_t peer) {
  auto at = counts.begin() + peer;
  return rows.subspan(static_cast<size_t>(std::accumulate(counts.begin(), at, int64_t(0))), static_cast<size_t>(*at));
}

constexpr const char *kName = "all_to_all_rows";
/// Rows are short: so many bytes are worth a thread.
constexpr int64_t kGrainBytes = 64 << 10;

} // namespace

void SharedGroup::allToAllRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) {
  if (direct)
    directRows(in, out, rowBytes, lists);
  else
    stagedRows(in, out, rowBytes, lists);
}

void SharedGroup::directRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) {
  Offer mine{static_cast<const std::byte *>(in), lists};
  members[me].in = reinterpret_cast<uint64_t>(&mine);
  barrier(kName);
  // Each begins with itself, so that not all read the same memory.
  for (int64_t step = 0; step < size; ++step) {
    int64_t peer = (me + step) % size;
    const Offer &theirs = *reinterpret_cast<const Offer *>(members[peer].in);
    std::span<const int64_t> from = rowsOf(theirs.lists.sendRows, theirs.lists.sendCounts, me);
    std::span<const int64_t> to = rowsOf(lists.receiveRows, lists.receiveCounts, peer);
    if (from.size() != to.size())
      fail("member ", me, " of group '", membership.name, "' expects ", to.size(), " rows of member ", peer,
           ", which sends: ", from.size());
    auto copy = [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        std::memcpy(static_cast<std::byte *>(out) + to[i] * rowBytes, theirs.rows + from[i] * rowBytes,
                    static_cast<size_t>(rowBytes));
    };
    if (team)
      team->parallelFor(static_cast<int64_t>(to.size()),
                        std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, rowBytes)), copy);
    else
      copy(0, static_cast<int64_t>(to.size()));
  }
  barrier(kName);
}

void SharedGroup::stagedRows(const void *in, void *out, int64_t rowBytes, const RowLists &lists) {
  int64_t slot = chunk() / size, rounds = 0;
  for (int64_t count : lists.sendCounts)
    rounds = std::max(rounds, (count * rowBytes + slot - 1) / slot);
  allReduce(&rounds, &rounds, 1, DTCC_I64, DTCC_MAX);
  // Bytes [at, at + slot) of a stream of rows, between the rows and a part of a stage.
  auto move = [&](std::span<const int64_t> rows, int64_t at, auto &&copy) {
    int64_t end = std::min(at + slot, static_cast<int64_t>(rows.size()) * rowBytes);
    for (int64_t from = at; from < end;) {
      int64_t row = from / rowBytes, inside = from % rowBytes, length = std::min(rowBytes - inside, end - from);
      copy(rows[static_cast<size_t>(row)] * rowBytes + inside, from - at, static_cast<size_t>(length));
      from += length;
    }
  };
  for (int64_t round = 0; round < rounds; ++round) {
    for (int64_t peer = 0; peer < size; ++peer) {
      std::byte *part = place(me) + peer * slot;
      move(rowsOf(lists.sendRows, lists.sendCounts, peer), round * slot, [&](int64_t row, int64_t at, size_t length) {
        std::memcpy(part + at, static_cast<const std::byte *>(in) + row, length);
      });
    }
    barrier(kName);
    for (int64_t peer = 0; peer < size; ++peer) {
      const std::byte *part = place(peer) + me * slot;
      move(rowsOf(lists.receiveRows, lists.receiveCounts, peer), round * slot,
           [&](int64_t row, int64_t at, size_t length) {
             std::memcpy(static_cast<std::byte *>(out) + row, part + at, length);
           });
    }
    ++turn;
  }
}

} // namespace dtcc::rt
