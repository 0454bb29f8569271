//===- TokenRows.cpp - Rows in the places of all members' tokens
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each member has room for all tokens of the group. Rows that come in wait in the end of their
// member's part of the output, and are spread from there.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/GpuRows.h"
#include "runtime/cuda/kernels/rows/RowExchange.h"
#include "runtime/cuda/ops/Operands.h"

#include <algorithm>

namespace dtcc::rt::cuda {
namespace {

class TokenRows final : public GpuRows {
public:
  TokenRows(const RowExchange &exchange, Launcher &launcher)
      : GpuRows(exchange, launcher), router(launcher, "RowExchange", "route_rows") {
    static const char *const packNames[] = {"", "pack_rows_2", "pack_rows_4", "pack_rows_8", "pack_rows_16"};
    static const char *const spreadNames[] = {"", "spread_rows_2", "spread_rows_4", "spread_rows_8", "spread_rows_16"};
    for (int u = 1; u < 5; ++u) {
      packs[u] = Kernel(launcher, "RowExchange", packNames[u]);
      spreads[u] = Kernel(launcher, "RowExchange", spreadNames[u]);
    }
    std::string sumName = std::string("sum_rows_") + typeName(exchange.type);
    sum = Kernel(launcher, "RowExchange", sumName.c_str());
  }

private:
  /// The counts lie behind the numbers of what goes out, then of what comes in; the lists of the host have more room.
  const int32_t *countsIn(const Run &run) const { return run.lists + 2 * exchange.members * exchange.tokens; }

  const int32_t *route(const Run &run) override {
    int32_t *counts = run.lists + 2 * exchange.members * exchange.tokens;
    router(run.call, 2 * exchange.members, routeThreads,
           RouteRows{{run.ids, 1, exchange.idType == DTCC_I64},
                     exchange.members,
                     run.group.index(),
                     exchange.tokens,
                     exchange.picks,
                     exchange.experts,
                     run.lists,
                     counts});
    return counts;
  }

  void move(const Run &run) override {
    const int64_t n = exchange.members, tokens = exchange.tokens, rowBytes = exchange.rowBytes(),
                  room = exchange.rowsOfRound();
    // A combine is the reverse of a dispatch: rows that came in are sent back.
    auto there = exchange.combines ? incoming() : outgoing(), here = exchange.combines ? outgoing() : incoming();
    const int32_t *leaving = run.lists + (exchange.combines ? n * tokens : 0);
    const int unit = unitOf(run.in, run.out);
    PackRows packing = {run.in, run.packed, leaving, n, tokens, rowBytes >> unit, 0, room, exchange.combines};
    const int64_t longest = std::max(std::ranges::max(there), std::ranges::max(here));
    for (; packing.first < longest; packing.first += room) {
      auto inRound = [&](int32_t count) { return std::clamp<int64_t>(count - packing.first, 0, room) * rowBytes; };
      std::byte *to = run.received;
      for (size_t peer = 0; peer < sends.size(); ++peer) {
        sends[peer] = {run.packed + static_cast<int64_t>(peer) * room * rowBytes, inRound(there[peer])};
        // Rows that come back lie behind those of earlier members. Rows to be spread lie at the end of the member's
        // part.
        std::byte *begin =
            exchange.combines ? to : run.received + (static_cast<int64_t>(peer + 1) * tokens - here[peer]) * rowBytes;
        receives[peer] = {begin + packing.first * rowBytes, inRound(here[peer])};
        to += here[peer] * rowBytes;
      }
      packs[unit](run.call, loopBlocks(n * tokens, launcher), routeThreads, packing);
      run.group.exchange(sends, receives);
    }
    exchange.combines ? sumUp(run) : spread(run, unit);
  }

  void sumUp(const Run &run) const {
    sum(run.call, loopBlocks(exchange.tokens, launcher), routeThreads,
        SumRows{run.received, run.out, run.lists, countsIn(run), exchange.members, exchange.tokens, exchange.columns});
  }

  void spread(const Run &run, int unit) const {
    const int32_t *coming = run.lists + exchange.members * exchange.tokens;
    SpreadRows spreading = {run.out, coming, countsIn(run) + exchange.members, exchange.tokens,
                            exchange.rowBytes() >> unit};
    LaunchShape grid = {
        {static_cast<unsigned>(partsOf(spreading.units, routeThreads)), static_cast<unsigned>(exchange.members), 1},
        {routeThreads, 1, 1},
        0};
    spreads[unit](run.call, grid, spreading);
  }

  Kernel router, packs[5], spreads[5], sum; /* by the logarithm of what they move at a time */
};

} // namespace

std::unique_ptr<GpuRows> bindTokenRows(const RowExchange &exchange, Launcher &launcher) {
  return std::make_unique<TokenRows>(exchange, launcher);
}

} // namespace dtcc::rt::cuda
