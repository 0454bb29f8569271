//===- RowExchange.cpp - Tokens to experts and back ----------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/RowExchange.h"
#include "runtime/collective/Reduce.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dtcc::rt {
namespace {

/// The routes of rows in both directions, in two lists: the tokens that I own, by the member that they picked, and the
/// tokens of each member that picked me, by their place among all.
class Routes {
public:
  Routes(Communicator &group, const RowExchange &exchange, const void *ids, int64_t *lists)
      : exchange(exchange), ids(ids), members(exchange.members), outCounts(lists), inCounts(lists + members),
        outRows(inCounts + members), inRows(outRows + exchange.rowsReturned()),
        rest(inRows + exchange.rowsOfExperts()) {
    if (exchange.isBounded())
      listPicks(group.index());
    else
      listTokens(group.index());
  }

  std::span<const int64_t> mine() const { return {outRows, outLength}; }
  std::span<const int64_t> mineCounts() const { return {outCounts, static_cast<size_t>(members)}; }
  std::span<const int64_t> theirs() const { return {inRows, inLength}; }
  std::span<const int64_t> theirCounts() const { return {inCounts, static_cast<size_t>(members)}; }
  /// Room for as many integers as `mine` has, and two a member.
  int64_t *room() const { return rest; }

private:
  void listTokens(int64_t me) {
    int64_t out = 0, in = 0;
    for (int64_t peer = 0; peer < members; ++peer) {
      int64_t outBefore = out, inBefore = in;
      for (int64_t token = 0; token < exchange.tokens; ++token) {
        if (wants(me * exchange.tokens + token, peer))
          outRows[out++] = token;
        if (int64_t place = peer * exchange.tokens + token; wants(place, me))
          inRows[in++] = place;
      }
      outCounts[peer] = out - outBefore;
      inCounts[peer] = in - inBefore;
    }
    outLength = static_cast<size_t>(out);
    inLength = static_cast<size_t>(in);
  }

  /// Calls `body(owner, token, member)` for every pick whose row its member keeps, in the order of all tokens.
  template <typename Body> void forEachKept(Body body) {
    std::fill_n(rest, members, 0);
    for (int64_t place = 0; place < members * exchange.tokens; ++place)
      for (int64_t k = 0; k < exchange.picks; ++k)
        if (int64_t member = memberOf(place * exchange.picks + k); rest[member] < exchange.room) {
          ++rest[member];
          body(place / exchange.tokens, place % exchange.tokens, member);
        }
  }

  void listPicks(int64_t me) {
    std::fill_n(outCounts, members, 0);
    std::fill_n(inCounts, members, 0);
    forEachKept([&](int64_t owner, int64_t, int64_t member) {
      outCounts[member] += owner == me;
      inCounts[owner] += member == me;
    });
    int64_t *next = rest + members, out = 0, in = 0;
    for (int64_t peer = 0; peer < members; ++peer) {
      next[peer] = out;
      out += outCounts[peer];
      in += inCounts[peer];
    }
    forEachKept([&](int64_t owner, int64_t token, int64_t member) {
      if (owner == me)
        outRows[next[member]++] = token;
    });
    std::iota(inRows, inRows + in, 0);
    outLength = static_cast<size_t>(out);
    inLength = static_cast<size_t>(in);
  }

  /// The member that has the expert of pick `at` among all.
  int64_t memberOf(int64_t at) const {
    int64_t id =
        exchange.idType == DTCC_I64 ? static_cast<const int64_t *>(ids)[at] : static_cast<const int32_t *>(ids)[at];
    if (id < 0 || id >= exchange.experts * members)
      fail("a router's pick must be one of ", exchange.experts * members, " experts, got: ", id);
    return id / exchange.experts;
  }
  /// Did the token at `place` pick an expert of `member`?
  bool wants(int64_t place, int64_t member) const {
    for (int64_t k = 0; k < exchange.picks; ++k)
      if (memberOf(place * exchange.picks + k) == member)
        return true;
    return false;
  }

  const RowExchange &exchange;
  const void *ids;
  int64_t members;
  int64_t *outCounts, *inCounts, *outRows, *inRows, *rest;
  size_t outLength = 0, inLength = 0;
};

} // namespace

void dispatchRows(Communicator &group, const RowExchange &exchange, const void *in, const void *ids, void *out,
                  int64_t *lists) {
  Routes routes(group, exchange, ids, lists);
  const int64_t rowBytes = exchange.rowBytes();
  auto *to = static_cast<std::byte *>(out);
  // Gaps between the places that rows will come to, which ascend.
  int64_t next = 0;
  auto clear = [&](int64_t until) {
    if (until > next)
      std::memset(to + next * rowBytes, 0, static_cast<size_t>((until - next) * rowBytes));
    next = until + 1;
  };
  for (int64_t place : routes.theirs())
    clear(place);
  clear(exchange.rowsOfExperts());
  group.allToAllRows(in, out, rowBytes, {routes.mine(), routes.mineCounts(), routes.theirs(), routes.theirCounts()});
}

void combineRows(Communicator &group, const RowExchange &exchange, const void *in, const void *ids, void *out,
                 void *returned, int64_t *lists) {
  Routes routes(group, exchange, ids, lists);
  const int64_t rowBytes = exchange.rowBytes(), members = exchange.members, columns = exchange.columns;
  // Rows come back in the order of the list by which tokens went out.
  int64_t *places = routes.room(), *next = places + routes.mine().size(), *last = next + members;
  std::iota(places, next, 0);
  group.allToAllRows(in, returned, rowBytes,
                     {routes.theirs(), routes.theirCounts(), {places, routes.mine().size()}, routes.mineCounts()});

  // Per member the next of its rows: each list ascends, as the tokens do.
  for (int64_t peer = 0, first = 0; peer < members; ++peer) {
    next[peer] = first;
    last[peer] = first += routes.mineCounts()[static_cast<size_t>(peer)];
  }
  std::vector<const void *> sources, ofPeer;
  // The row of a token that came from a peer, or null. Those of several picks become their sum, in the place of the
  // first: without a bound the peer adds them up.
  auto takeRow = [&](int64_t peer, int64_t token) -> void * {
    ofPeer.clear();
    void *first = static_cast<std::byte *>(returned) + next[peer] * rowBytes;
    for (; next[peer] < last[peer] && routes.mine()[static_cast<size_t>(next[peer])] == token; ++next[peer])
      ofPeer.push_back(static_cast<const std::byte *>(returned) + next[peer] * rowBytes);
    if (ofPeer.size() > 1)
      reduceElements(exchange.type, DTCC_SUM, ofPeer, {&first, 1}, 0, columns, 0);
    return ofPeer.empty() ? nullptr : first;
  };
  sources.reserve(static_cast<size_t>(exchange.copies()));
  for (int64_t token = 0; token < exchange.tokens; ++token) {
    sources.clear();
    for (int64_t peer = 0; peer < members; ++peer)
      if (void *row = takeRow(peer, token))
        sources.push_back(row);
    void *row = static_cast<std::byte *>(out) + token * rowBytes;
    // All rows of the token were dropped.
    if (sources.empty())
      std::memset(row, 0, static_cast<size_t>(rowBytes));
    else
      reduceElements(exchange.type, DTCC_SUM, sources, {&row, 1}, 0, columns, 0);
  }
}

} // namespace dtcc::rt
