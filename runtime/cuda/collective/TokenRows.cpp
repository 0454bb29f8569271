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
  TokenRows(const RowShape &shape, Launcher &launcher)
      : GpuRows(shape, launcher), router(launcher, "RowExchange", "route_rows") {
    static const char *const packNames[] = {"", "pack_rows_2", "pack_rows_4", "pack_rows_8", "pack_rows_16"};
    static const char *const spreadNames[] = {"", "spread_rows_2", "spread_rows_4", "spread_rows_8", "spread_rows_16"};
    for (int u = 1; u < 5; ++u) {
      packs[u] = Kernel(launcher, "RowExchange", packNames[u]);
      spreads[u] = Kernel(launcher, "RowExchange", spreadNames[u]);
    }
    std::string sumName = std::string("sum_rows_") + typeName(shape.type);
    sum = Kernel(launcher, "RowExchange", sumName.c_str());
  }

private:
  /// The counts lie behind the numbers of what goes out, then of what comes in; the lists of the host have more room.
  const int32_t *countsIn(const Run &run) const { return run.lists + 2 * shape.members * shape.tokens; }

  const int32_t *route(const Run &run) override {
    int32_t *counts = run.lists + 2 * shape.members * shape.tokens;
    router(run.call, 2 * shape.members, routeThreads,
           RouteRows{{run.ids, 1, shape.idType == DTCC_I64},
                     shape.members,
                     run.group.index(),
                     shape.tokens,
                     shape.picks,
                     shape.experts,
                     run.lists,
                     counts});
    return counts;
  }

  void exchange(const Run &run) override {
    const int64_t n = shape.members, tokens = shape.tokens, rowBytes = shape.rowBytes(), room = shape.room();
    // A combine is the reverse of a dispatch: rows that came in are sent back.
    auto there = shape.combines ? incoming() : outgoing(), here = shape.combines ? outgoing() : incoming();
    const int32_t *leaving = run.lists + (shape.combines ? n * tokens : 0);
    const int unit = unitOf(run.in, run.out);
    PackRows packing = {run.in, run.packed, leaving, n, tokens, rowBytes >> unit, 0, room, shape.combines};
    const int64_t longest = std::max(std::ranges::max(there), std::ranges::max(here));
    for (; packing.first < longest; packing.first += room) {
      auto inRound = [&](int32_t count) { return std::clamp<int64_t>(count - packing.first, 0, room) * rowBytes; };
      std::byte *to = run.received;
      for (size_t peer = 0; peer < sends.size(); ++peer) {
        sends[peer] = {run.packed + static_cast<int64_t>(peer) * room * rowBytes, inRound(there[peer])};
        // Rows that come back lie behind those of earlier members. Rows to be spread lie at the end of the member's
        // part.
        std::byte *begin =
            shape.combines ? to : run.received + (static_cast<int64_t>(peer + 1) * tokens - here[peer]) * rowBytes;
        receives[peer] = {begin + packing.first * rowBytes, inRound(here[peer])};
        to += here[peer] * rowBytes;
      }
      packs[unit](run.call, loopBlocks(n * tokens, launcher), routeThreads, packing);
      run.group.exchange(sends, receives);
    }
    shape.combines ? sumUp(run) : spread(run, unit);
  }

  void sumUp(const Run &run) const {
    sum(run.call, loopBlocks(shape.tokens, launcher), routeThreads,
        SumRows{run.received, run.out, run.lists, countsIn(run), shape.members, shape.tokens, shape.columns});
  }

  void spread(const Run &run, int unit) const {
    const int32_t *coming = run.lists + shape.members * shape.tokens;
    SpreadRows spreading = {run.out, coming, countsIn(run) + shape.members, shape.tokens, shape.rowBytes() >> unit};
    LaunchShape grid = {
        {static_cast<unsigned>(partsOf(spreading.units, routeThreads)), static_cast<unsigned>(shape.members), 1},
        {routeThreads, 1, 1},
        0};
    spreads[unit](run.call, grid, spreading);
  }

  Kernel router, packs[5], spreads[5], sum; /* by the logarithm of what they move at a time */
};

} // namespace

std::unique_ptr<GpuRows> bindTokenRows(const RowShape &shape, Launcher &launcher) {
  return std::make_unique<TokenRows>(shape, launcher);
}

} // namespace dtcc::rt::cuda
