//===- ReorderOp.cpp - Positions in the order of ranks -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/SequenceOrder.h"
#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"

#include <cstring>
#include <vector>

namespace dtcc::rt {
namespace {

enum Attribute { Coordinate, Chunks, Inverse, Fill, AttributeCount };

class ReorderOp final : public LibraryOp {
public:
  ReorderOp(const CheckedOperands &operands, Rank &rank) {
    operands.expect(2, AttributeCount);
    auto type = static_cast<dtcc_dtype>(operands.operand(0).dtype);
    const dtcc_view &x = operands.tensor(0, "x", {-1, -1, -1}, type);
    const dtcc_view &y = operands.tensor(1, "out", {x.sizes[0], -1, x.sizes[2]}, type);
    for (const dtcc_view *view : {&x, &y})
      if (view->strides[2] != 1 || view->strides[1] != view->sizes[2] ||
          view->strides[0] != view->sizes[1] * view->sizes[2])
        operands.reject("views must be dense");
    outer = x.sizes[0], rowsIn = x.sizes[1], rowsOut = y.sizes[1];
    rowBytes = static_cast<size_t>(x.sizes[2] * dtcc_dtype_size(type));
    coordinate = operands.communicator(Coordinate);
    chunks = operands.integer(Chunks);
    inverse = operands.flag(Inverse);
    if (chunks < 0 || chunks % 2)
      operands.reject("chunks must be even, got: ", chunks);
    int64_t fill = operands.integer(Fill);
    if (fill != 0 && type != DTCC_I64 && type != DTCC_I32)
      operands.reject("fill must be 0 for this type, got: ", fill);
    // Little endian: the low bytes are the value in the narrower type.
    filler.resize(rowBytes);
    for (size_t at = 0; fill != 0 && at < rowBytes; at += dtcc_dtype_size(type))
      std::memcpy(filler.data() + at, &fill, dtcc_dtype_size(type));
  }

  void run(Rank &rank, void *const *buffers) override {
    const int64_t first = rank.groupIndex(coordinate) * rowsOut, ordered = orderedRows(rowsIn, chunks);
    std::vector<int64_t> from(static_cast<size_t>(rowsOut), rowsIn);
    for (int64_t row = 0; row < ordered; ++row) {
      int64_t position = positionOfRow(row, ordered, chunks), to = (inverse ? position : row) - first;
      if (to >= 0 && to < rowsOut)
        from[static_cast<size_t>(to)] = inverse ? row : position;
    }
    const auto *x = static_cast<const std::byte *>(buffers[0]);
    auto *y = static_cast<std::byte *>(buffers[1]);
    rank.team.parallelFor(outer * rowsOut, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t row = from[static_cast<size_t>(i % rowsOut)];
        std::byte *to = y + static_cast<size_t>(i) * rowBytes;
        const std::byte *source = x + static_cast<size_t>(i / rowsOut * rowsIn + row) * rowBytes;
        std::memcpy(to, row < rowsIn ? source : filler.data(), rowBytes);
      }
    });
  }

private:
  int64_t outer = 0, rowsIn = 0, rowsOut = 0, coordinate = -1, chunks = 0;
  size_t rowBytes = 0;
  std::vector<std::byte> filler; // a row that pads
  bool inverse = false;
};

} // namespace

DTCC_CPU_OP(REORDER, ReorderOp)

} // namespace dtcc::rt
