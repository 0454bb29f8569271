//===- EmbeddingOps.cpp - The library ops of embeddings -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Embedding.h"
#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"

namespace dtcc::rt {
namespace {

template <typename T> Matrix<T> matrixOf(const dtcc_view &view) {
  return {nullptr, view.sizes[0], view.sizes[1], strideOf(view, 0), view.sizes[1] == 1 ? 1 : view.strides[1]};
}
Integers integersOf(const dtcc_view &view) {
  return {nullptr, view.sizes[0], strideOf(view, 0), view.dtype == DTCC_I64};
}

/// Views a box of halves under another 16-bit type: strides count elements.
template <typename To, typename From> Matrix<To> as(const Matrix<From> &from) {
  return {reinterpret_cast<To *>(from.data), from.rows, from.columns, from.rowStride, from.columnStride};
}

class EmbeddingOp final : public LibraryOp {
public:
  EmbeddingOp(const CheckedOperands &operands, Rank &) {
    operands.expect(3, 1);
    const dtcc_view &tableView = operands.floats(0, "table", {-1, -1});
    type = static_cast<dtcc_dtype>(tableView.dtype);
    const dtcc_view &idsView = operands.integers(1, "ids", -1);
    table = matrixOf<const float>(tableView);
    ids = integersOf(idsView);
    out = matrixOf<float>(operands.tensor(2, "out", {idsView.sizes[0], tableView.sizes[1]}, type));
    communicator = operands.communicator(0);
  }
  void run(Rank &rank, void *const *buffers) override {
    table.data = static_cast<const float *>(buffers[0]);
    ids.data = buffers[1];
    out.data = static_cast<float *>(buffers[2]);
    int64_t offset = rank.groupIndex(communicator) * table.rows;
    if (type == DTCC_F32)
      embedding(rank.team, table, ids, offset, out);
    else
      embedding(rank.team, as<const uint16_t>(table), ids, offset, as<uint16_t>(out));
  }

private:
  Matrix<const float> table;
  Integers ids;
  Matrix<float> out;
  dtcc_dtype type;
  int64_t communicator;
};

class ScatterAddOp final : public LibraryOp {
public:
  ScatterAddOp(const CheckedOperands &operands, Rank &) {
    operands.expect(3, 3);
    const dtcc_view &doutView = operands.floats(0, "dout", {-1, -1});
    type = static_cast<dtcc_dtype>(doutView.dtype);
    dout = matrixOf<const float>(doutView);
    ids = integersOf(operands.integers(1, "ids", doutView.sizes[0]));
    dtable = matrixOf<float>(operands.tensor(2, "dtable", {-1, doutView.sizes[1]}));
    communicator = operands.communicator(0);
    accumulate = operands.accumulation(1);
    paddingId = operands.integer(2);
  }
  void run(Rank &rank, void *const *buffers) override {
    dout.data = static_cast<const float *>(buffers[0]);
    ids.data = buffers[1];
    dtable.data = static_cast<float *>(buffers[2]);
    int64_t offset = rank.groupIndex(communicator) * dtable.rows;
    bool adds = accumulates(accumulate, rank);
    if (type == DTCC_F32)
      scatterAdd(rank.team, vectorKernels(), dout, ids, offset, adds, paddingId, dtable);
    else
      scatterAdd(rank.team, vectorKernels(), type, as<const uint16_t>(dout), ids, offset, adds, paddingId, dtable);
  }

private:
  Matrix<const float> dout;
  Integers ids;
  Matrix<float> dtable;
  dtcc_dtype type;
  int64_t communicator;
  int64_t paddingId;
  Accumulation accumulate;
};

} // namespace

DTCC_CPU_OP(EMBEDDING, EmbeddingOp)
DTCC_CPU_OP(SCATTER_ADD, ScatterAddOp)

} // namespace dtcc::rt
