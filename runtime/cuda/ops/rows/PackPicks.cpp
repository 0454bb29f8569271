//===- PackPicks.cpp - Picks that there is room for, as a launch
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/rows/RowExchange.h"
#include "runtime/cuda/ops/Operands.h"

namespace dtcc::rt::cuda {
namespace {

class PackPicksOp final : public CudaOp {
public:
  PackPicksOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : launcher(launcher), kernel(launcher, "RowExchange", "keep_picks") {
    operands.expect(3, 3);
    const dtcc_view &ids = operands.operand(0);
    if (ids.dtype != DTCC_I64 && ids.dtype != DTCC_I32)
      operands.reject("ids must be integers, got: ", int{ids.dtype});
    const dtcc_view &places = operands.tensor(2, "places", {-1}, DTCC_I64);
    const dtcc_view &picked = operands.tensor(1, "picked", {places.sizes[0], 1}, static_cast<dtcc_dtype>(ids.dtype));
    for (const dtcc_view *view : {&ids, &places, &picked})
      if (!isContiguous(*view))
        operands.reject("views must be dense");
    p.ids = {nullptr, 1, ids.dtype == DTCC_I64};
    p.size = elementCount(ids), p.room = places.sizes[0], p.experts = operands.integer(1);
    communicator = operands.communicator(0), counts = operands.flag(2);
    const Image &image = rank.image;
    members = communicator < 0 ? 1 : image.mesh().sizeOf(image.communicators()[static_cast<size_t>(communicator)]);
    // Later ops of a step keep the same picks as the one that counts.
    wanted = counts ? launcher.hostCell() : nullptr;
  }

  void run(Rank &rank, const Call &call) override {
    KeepPicks here = p;
    here.ids.data = call.buffers[0];
    here.picked = call.buffers[1], here.places = address<int64_t>(call, 2);
    here.first = rank.groupIndex(communicator) * p.experts;
    here.wanted = wanted;
    kernel(call, 1, routeThreads, here);
    if (!counts)
      return;
    launcher.wait(call.stream);
    rank.checkRoom(*wanted, p.room, static_cast<double>(p.size) / static_cast<double>(members), counts);
  }

private:
  KeepPicks p = {};
  Launcher &launcher;
  Kernel kernel;
  int64_t communicator = -1, members = 1;
  bool counts = false;
  int64_t *wanted = nullptr;
};

} // namespace

DTCC_CUDA_OP(PACK_PICKS, PackPicksOp)

} // namespace dtcc::rt::cuda
