//===- PackPicks.cpp - The library op of picks that a rank has room for -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread walks all picks of the group, a few integers a token: which of them overflow must not depend on the number
// of threads. RowExchange.h keeps the same ones.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Integers.h"
#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"

namespace dtcc::rt {
namespace {

class PackPicksOp final : public LibraryOp {
public:
  PackPicksOp(const CheckedOperands &operands, Rank &rank) {
    operands.expect(3, 3);
    const dtcc_view &view = operands.operand(0);
    if (view.dtype != DTCC_I64 && view.dtype != DTCC_I32)
      operands.reject("ids must be integers, got: ", int{view.dtype});
    if (!isContiguous(view))
      operands.reject("ids must be dense");
    ids = {nullptr, elementCount(view), 1, view.dtype == DTCC_I64};
    const dtcc_view &placesView = operands.tensor(2, "places", {-1}, DTCC_I64);
    room = placesView.sizes[0];
    const dtcc_view &pickedView = operands.tensor(1, "picked", {room, 1}, static_cast<dtcc_dtype>(view.dtype));
    if (!isContiguous(pickedView) || !isContiguous(placesView))
      operands.reject("results must be dense");
    communicator = operands.communicator(0);
    experts = operands.integer(1);
    counts = operands.flag(2);
    const Image &image = rank.image;
    members = communicator < 0 ? 1 : image.mesh().sizeOf(image.communicators()[static_cast<size_t>(communicator)]);
  }

  void run(Rank &rank, void *const *buffers) override {
    Integers all = ids;
    all.data = buffers[0];
    auto *places = static_cast<int64_t *>(buffers[2]);
    int64_t first = rank.groupIndex(communicator) * experts, kept = 0, wanted = 0;
    for (int64_t at = 0; at < all.size; ++at) {
      int64_t id = all[at];
      if (id < first || id >= first + experts)
        continue;
      ++wanted;
      if (kept == room)
        continue;
      write(buffers[1], kept, id);
      places[kept++] = at;
    }
    for (; kept < room; ++kept) {
      write(buffers[1], kept, -1);
      places[kept] = -1;
    }
    rank.checkRoom(wanted, room, static_cast<double>(ids.size) / static_cast<double>(members), counts);
  }

private:
  void write(void *picked, int64_t at, int64_t id) const {
    if (ids.wide)
      static_cast<int64_t *>(picked)[at] = id;
    else
      static_cast<int32_t *>(picked)[at] = static_cast<int32_t>(id);
  }

  Integers ids;
  int64_t room = 0, experts = 1, members = 1, communicator = -1;
  bool counts = false;
};

} // namespace

DTCC_CPU_OP(PACK_PICKS, PackPicksOp)

} // namespace dtcc::rt
