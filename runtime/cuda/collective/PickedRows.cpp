//===- PickedRows.cpp - Rows of the picks that members keep
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With a bound (--moe-capacity) a member keeps the first picks of its experts in the order of
// all tokens. Their rows lie side by side, member by member: they come to where they belong,
// and go back from there without being packed.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/GpuRows.h"
#include "runtime/cuda/kernels/rows/RowExchange.h"
#include "runtime/cuda/ops/Operands.h"

#include <algorithm>

namespace dtcc::rt::cuda {
namespace {

class PickedRows final : public GpuRows {
public:
  PickedRows(const RowExchange &exchange, Launcher &launcher)
      : GpuRows(exchange, launcher), router(launcher, "RowExchange", "route_picks") {
    static const char *const packNames[] = {"", "pack_picks_2", "pack_picks_4", "pack_picks_8", "pack_picks_16"};
    for (int u = 1; u < 5; ++u)
      packs[u] = Kernel(launcher, "RowExchange", packNames[u]);
    std::string sumName = std::string("sum_picks_") + typeName(exchange.type);
    sum = Kernel(launcher, "RowExchange", sumName.c_str());
  }

private:
  Integers picksOf(const void *ids) const { return {ids, 1, exchange.idType == DTCC_I64}; }
  /// The picks of this member's tokens.
  Integers ownPicks(const Run &run) const {
    const int64_t first = run.group.index() * exchange.tokens * exchange.picks;
    return picksOf(static_cast<const std::byte *>(run.ids) + first * dtcc_dtype_size(exchange.idType));
  }

  const int32_t *route(const Run &run) override {
    int32_t *counts = run.lists + exchange.tokens * exchange.picks;
    router(run.call, 2 * exchange.members, routeThreads,
           RoutePicks{picksOf(run.ids), exchange.members, run.group.index(), exchange.tokens, exchange.picks,
                      exchange.experts, exchange.room, run.lists, counts});
    return counts;
  }

  void move(const Run &run) override { exchange.combines ? combine(run) : dispatch(run); }

  void dispatch(const Run &run) {
    const int64_t rowBytes = exchange.rowBytes(), room = exchange.rowsOfRound();
    const int unit = unitOf(run.in, run.packed);
    PackPickedRows packing = {run.in,         run.packed,       ownPicks(run),    run.lists, exchange.tokens,
                              exchange.picks, exchange.experts, rowBytes >> unit, 0,         room};
    const int64_t longest = std::max(std::ranges::max(outgoing()), std::ranges::max(incoming()));
    for (; packing.first < longest; packing.first += room) {
      auto inRound = [&](int32_t count) { return std::clamp<int64_t>(count - packing.first, 0, room) * rowBytes; };
      std::byte *to = run.out;
      for (size_t peer = 0; peer < sends.size(); ++peer) {
        sends[peer] = {run.packed + static_cast<int64_t>(peer) * room * rowBytes, inRound(outgoing()[peer])};
        receives[peer] = {to + packing.first * rowBytes, inRound(incoming()[peer])};
        to += incoming()[peer] * rowBytes;
      }
      packs[unit](run.call, loopBlocks(exchange.tokens * exchange.picks, launcher), routeThreads, packing);
      run.group.exchange(sends, receives);
    }
    int64_t kept = 0;
    for (int32_t count : incoming())
      kept += count;
    run.gpu.clear(reinterpret_cast<CUdeviceptr>(run.out + kept * rowBytes),
                  static_cast<uint64_t>((exchange.room - kept) * rowBytes), run.call.stream);
  }

  void combine(const Run &run) {
    const int64_t rowBytes = exchange.rowBytes();
    std::byte *from = run.in, *to = run.received;
    for (size_t peer = 0; peer < sends.size(); ++peer) {
      sends[peer] = {from, incoming()[peer] * rowBytes};
      receives[peer] = {to, outgoing()[peer] * rowBytes};
      from += incoming()[peer] * rowBytes;
      to += outgoing()[peer] * rowBytes;
    }
    run.group.exchange(sends, receives);
    sum(run.call, loopBlocks(exchange.tokens, launcher), routeThreads,
        SumPickedRows{run.received, run.out, ownPicks(run), run.lists, run.lists + exchange.tokens * exchange.picks,
                      exchange.tokens, exchange.picks, exchange.experts, exchange.columns});
  }

  Kernel router, packs[5], sum; /* packs by the logarithm of what they move at a time */
};

} // namespace

std::unique_ptr<GpuRows> bindPickedRows(const RowExchange &exchange, Launcher &launcher) {
  return std::make_unique<PickedRows>(exchange, launcher);
}

} // namespace dtcc::rt::cuda
