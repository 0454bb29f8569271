//===- RowOps.cpp - Largest cells and orders of rows as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/SequenceOrder.h"
#include "runtime/cuda/kernels/rows/RowOrder.h"
#include "runtime/cuda/ops/Operands.h"

#include <cstring>
#include <limits>

namespace dtcc::rt::cuda {
namespace {

class TopKOp final : public CudaOp {
public:
  TopKOp(const CheckedOperands &operands, Rank &, Launcher &launcher) : kernel(launcher, "RowOrder", "top_k") {
    operands.expect(3, 0);
    const dtcc_view &x = operands.tensor(0, "x", {-1, -1});
    const dtcc_view &values = operands.tensor(1, "values", {x.sizes[0], -1});
    const dtcc_view &indices = operands.tensor(2, "indices", {x.sizes[0], values.sizes[1]}, DTCC_I64);
    p.rows = x.sizes[0], p.columns = x.sizes[1], p.picked = values.sizes[1];
    if (p.picked > p.columns)
      operands.reject("must pick at most ", p.columns, " cells, got: ", p.picked);
    if (p.columns > std::numeric_limits<int32_t>::max())
      operands.reject("columns must be below 2^31, got: ", p.columns);
    for (int d = 0; d < 2; ++d)
      p.xStrides[d] = x.strides[d], p.valueStrides[d] = values.strides[d], p.indexStrides[d] = indices.strides[d];
  }
  void run(Rank &, const Call &call) override {
    p.x = address<const float>(call, 0), p.values = address<float>(call, 1), p.indices = address<int64_t>(call, 2);
    kernel(call, partsOf(p.rows, rowThreads / 32), rowThreads, p);
  }

private:
  TopK p = {};
  Kernel kernel;
};

class ReorderOp final : public CudaOp {
public:
  ReorderOp(const CheckedOperands &operands, Rank &, Launcher &launcher) {
    enum Attribute { Coordinate, Chunks, Inverse, Fill, AttributeCount };
    operands.expect(2, AttributeCount);
    auto type = static_cast<dtcc_dtype>(operands.operand(0).dtype);
    const dtcc_view &x = operands.tensor(0, "x", {-1, -1, -1}, type);
    const dtcc_view &y = operands.tensor(1, "out", {x.sizes[0], -1, x.sizes[2]}, type);
    for (const dtcc_view *view : {&x, &y})
      if (!isContiguous(*view))
        operands.reject("views must be dense");
    p.outer = x.sizes[0], p.rowsIn = x.sizes[1], p.rowsOut = y.sizes[1];
    cell = dtcc_dtype_size(type), rowBytes = x.sizes[2] * cell;
    coordinate = operands.communicator(Coordinate);
    p.chunks = operands.integer(Chunks), p.inverse = operands.flag(Inverse);
    if (p.chunks < 0 || p.chunks % 2)
      operands.reject("chunks must be even, got: ", p.chunks);
    p.ordered = orderedRows(p.rowsIn, p.chunks);
    int64_t fill = operands.integer(Fill);
    if (fill != 0 && type != DTCC_I64 && type != DTCC_I32)
      operands.reject("fill must be 0 for this type, got: ", fill);
    // Little endian: the low bytes are the value in the narrower type.
    for (size_t at = 0; at < sizeof p.filler; at += static_cast<size_t>(cell))
      std::memcpy(reinterpret_cast<char *>(p.filler) + at, &fill, static_cast<size_t>(cell));
    static const char *const names[] = {"reorder_1", "reorder_2", "reorder_4", "reorder_8", "reorder_16"};
    for (int u = 0; u < 5; ++u)
      kernels[u] = Kernel(launcher, "RowOrder", names[u]);
    blocks = loopBlocks(p.outer * p.rowsOut, launcher);
  }
  void run(Rank &rank, const Call &call) override {
    Reorder here = p;
    here.x = call.buffers[0], here.out = call.buffers[1];
    here.first = rank.groupIndex(coordinate) * p.rowsOut;
    int unit = 4;
    while (rowBytes % (int64_t{1} << unit) || !isAligned(here.x, uint64_t{1} << unit) ||
           !isAligned(here.out, uint64_t{1} << unit))
      --unit;
    here.units = rowBytes >> unit;
    kernels[unit](call, blocks, rowThreads, here);
  }

private:
  Reorder p = {};
  int64_t coordinate, cell, rowBytes, blocks;
  Kernel kernels[5]; // by the unit's logarithm
};

} // namespace

DTCC_CUDA_OP(TOP_K, TopKOp)
DTCC_CUDA_OP(REORDER, ReorderOp)

} // namespace dtcc::rt::cuda
