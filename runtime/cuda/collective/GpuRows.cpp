//===- GpuRows.cpp - Tokens to experts and back, between GPUs - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/collective/GpuRows.h"

#include "runtime/core/Error.h"
#include "runtime/cuda/kernels/RowExchange.h"
#include "runtime/cuda/ops/Operands.h"

namespace dtcc::rt::cuda {

RowShape RowShape::of(const dtcc_command &command, const Image &image) {
  auto operands = image.operands(command);
  const dtcc_view &rows = image.views()[operands[0]], &ids = image.views()[operands[1]];
  RowShape shape = {};
  shape.combines = command.op == DTCC_COMBINE_ROWS;
  shape.members = image.mesh().sizeOf(image.communicators()[command.communicator]);
  shape.picks = ids.sizes[ids.rank - 1];
  shape.tokens = elementCount(ids) / shape.picks / shape.members;
  shape.experts = image.attributes(command)[0];
  shape.columns = rows.sizes[rows.rank - 1];
  shape.type = static_cast<dtcc_dtype>(rows.dtype), shape.idType = static_cast<dtcc_dtype>(ids.dtype);
  return shape;
}

GpuRows::GpuRows(const RowShape &shape, Launcher &launcher)
    : shape(shape), launcher(launcher), counts(static_cast<size_t>(2 * shape.members)),
      sends(static_cast<size_t>(shape.members)), receives(sends.size()), route(launcher, "RowExchange", "route_rows") {
  if (shape.type != DTCC_F32 && shape.type != DTCC_BF16 && shape.type != DTCC_F16)
    fail("GPUs exchange rows of f32, bf16 or f16, got type: ", int(shape.type));
  static const char *const packNames[] = {"", "pack_rows_2", "pack_rows_4", "pack_rows_8", "pack_rows_16"};
  static const char *const spreadNames[] = {"", "spread_rows_2", "spread_rows_4", "spread_rows_8", "spread_rows_16"};
  for (int u = 1; u < 5; ++u) {
    packs[u] = Kernel(launcher, "RowExchange", packNames[u]);
    spreads[u] = Kernel(launcher, "RowExchange", spreadNames[u]);
  }
  std::string sumName = std::string("sum_rows_") + typeName(shape.type);
  sum = Kernel(launcher, "RowExchange", sumName.c_str());
}

void GpuRows::run(Gpu &gpu, NcclCommunicator &group, CUstream stream, void *const *buffers) {
  Call call{stream, buffers};
  const auto [combines, n, tokens, picks, experts, columns, type, idType] = shape;
  const int64_t rowBytes = shape.rowBytes(), room = shape.room();
  auto *out = static_cast<std::byte *>(buffers[2]), *received = combines ? static_cast<std::byte *>(buffers[3]) : out;
  auto *packed = static_cast<std::byte *>(buffers[combines ? 4 : 3]);
  auto *lists = static_cast<int32_t *>(buffers[combines ? 5 : 4]);

  // The numbers of what goes out, then of what comes in; the lists of the host have more room.
  RouteRows routes = {{buffers[1], 1, idType == DTCC_I64}, n, group.index(), tokens, picks, experts, lists, nullptr};
  routes.counts = lists + 2 * n * tokens;
  route(call, 2 * n, routeThreads, routes);
  gpu.copyToHost(counts.data(), reinterpret_cast<CUdeviceptr>(routes.counts), counts.size() * sizeof(int32_t), stream);
  gpu.synchronize(stream);
  for (int32_t count : counts)
    if (count < 0)
      fail(gpu.where(), ": a router's pick must be one of ", experts * n, " experts");

  // A combine is the reverse of a dispatch: rows that came in are sent back.
  auto there = combines ? incoming() : outgoing(), here = combines ? outgoing() : incoming();
  const int32_t *leaving = lists + (combines ? n * tokens : 0), *coming = lists + (combines ? 0 : n * tokens);
  int unit = 4;
  while (rowBytes % (int64_t{1} << unit) || !isAligned(buffers[0], uint64_t{1} << unit) ||
         !isAligned(out, uint64_t{1} << unit))
    --unit;
  PackRows packing = {buffers[0], packed, leaving, n, tokens, rowBytes >> unit, 0, room, combines};
  int64_t longest =
      std::max(*std::max_element(there.begin(), there.end()), *std::max_element(here.begin(), here.end()));
  for (; packing.first < longest; packing.first += room) {
    auto inRound = [&](int32_t count) { return std::clamp<int64_t>(count - packing.first, 0, room) * rowBytes; };
    std::byte *to = received;
    for (size_t peer = 0; peer < sends.size(); ++peer) {
      sends[peer] = {packed + static_cast<int64_t>(peer) * room * rowBytes, inRound(there[peer])};
      // Rows that come back lie behind those of earlier members. Rows to be spread lie at the end of the member's part.
      std::byte *begin = combines ? to : received + (static_cast<int64_t>(peer + 1) * tokens - here[peer]) * rowBytes;
      receives[peer] = {begin + packing.first * rowBytes, inRound(here[peer])};
      to += here[peer] * rowBytes;
    }
    packs[unit](call, loopBlocks(n * tokens, launcher), routeThreads, packing);
    group.exchange(sends, receives);
  }

  const int32_t *came = routes.counts + (combines ? 0 : n);
  if (combines) {
    sum(call, loopBlocks(tokens, launcher), routeThreads, SumRows{received, out, coming, came, n, tokens, columns});
    return;
  }
  SpreadRows spreading = {out, coming, came, tokens, rowBytes >> unit};
  LaunchShape shape = {{static_cast<unsigned>(partsOf(spreading.units, routeThreads)), static_cast<unsigned>(n), 1},
                       {routeThreads, 1, 1},
                       0};
  spreads[unit](call, shape, spreading);
}

} // namespace dtcc::rt::cuda
