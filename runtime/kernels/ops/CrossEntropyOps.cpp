//===- CrossEntropyOps.cpp - The library ops of cross entropy -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/CrossEntropy.h"
#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"

namespace dtcc::rt {
namespace {

/// A vector operand of the command: its address is known when it runs.
struct Operand {
  size_t index = 0;
  int64_t stride = 1;
  Operand() = default;
  Operand(const CheckedOperands &operands, size_t index, const char *name, int64_t size) : index(index) {
    stride = strideOf(operands.tensor(index, name, {size}), 0);
  }
  Vector<float> at(void *const *buffers) const { return {static_cast<float *>(buffers[index]), stride}; }
  Vector<const float> read(void *const *buffers) const { return {static_cast<const float *>(buffers[index]), stride}; }
};

/// Logarithms of the sums of rows, of either type.
struct LogOperand {
  size_t index = 0;
  int64_t stride = 1;
  bool wide = false;
  LogOperand() = default;
  LogOperand(const CheckedOperands &operands, size_t index, int64_t size)
      : index(index), wide(operands.operand(index).dtype == DTCC_F64) {
    stride = strideOf(operands.tensor(index, "lse", {size}, wide ? DTCC_F64 : DTCC_F32), 0);
  }
  RowLogs at(void *const *buffers) const { return {buffers[index], stride, wide}; }
};

Integers labelsOf(const dtcc_view &view) { return {nullptr, view.sizes[0], strideOf(view, 0), view.dtype == DTCC_I64}; }

/// Logits and the coordinate of their columns.
struct Shard {
  ClassShard shape;
  int64_t rowStride = 0;
  int64_t communicator = -1;
  Shard(const CheckedOperands &operands, int64_t communicator, int64_t classes) : communicator(communicator) {
    const dtcc_view &logits = operands.tensor(0, "logits", {-1, -1});
    operands.expectContiguousRows(logits, "logits");
    shape.rows = logits.sizes[0], shape.columns = logits.sizes[1], shape.classes = classes;
    rowStride = strideOf(logits, 0);
    if (classes < 1)
      operands.reject("classes must be at least 1, got: ", classes);
  }
  ClassShard on(const Rank &rank) const {
    ClassShard here = shape;
    here.offset = rank.groupIndex(communicator) * shape.columns;
    return here;
  }
};

class StatsOp final : public LibraryOp {
public:
  StatsOp(const CheckedOperands &operands, Rank &)
      : shard((operands.expect(5, 2), operands), operands.communicator(0), operands.integer(1)),
        labels(labelsOf(operands.integers(1, "labels", shard.shape.rows))),
        rowmax(operands, 2, "rowmax", shard.shape.rows), rowsum(operands, 3, "rowsum", shard.shape.rows),
        target(operands, 4, "target", shard.shape.rows) {}
  void run(Rank &rank, void *const *buffers) override {
    labels.data = buffers[1];
    crossEntropyStats(rank.team, vectorKernels(), shard.on(rank), static_cast<const float *>(buffers[0]),
                      shard.rowStride, labels, rowmax.at(buffers), rowsum.at(buffers), target.at(buffers));
  }

private:
  Shard shard;
  Integers labels;
  Operand rowmax, rowsum, target;
};

class MergeOp final : public LibraryOp {
public:
  MergeOp(const CheckedOperands &operands, Rank &) {
    operands.expect(3, 0);
    rows = operands.tensor(0, "rowmax", {-1}).sizes[0];
    rowmax = Operand(operands, 0, "rowmax", rows);
    gmax = Operand(operands, 1, "gmax", rows);
    rowsum = Operand(operands, 2, "rowsum", rows);
  }
  void run(Rank &, void *const *buffers) override {
    crossEntropyMerge(rows, rowmax.read(buffers), gmax.read(buffers), rowsum.at(buffers));
  }

private:
  int64_t rows;
  Operand rowmax, gmax, rowsum;
};

class LossOp final : public LibraryOp {
public:
  LossOp(const CheckedOperands &operands, Rank &) {
    operands.expect(7, 3);
    rows = operands.tensor(0, "gmax", {-1}).sizes[0];
    gmax = Operand(operands, 0, "gmax", rows);
    rowsum = Operand(operands, 1, "rowsum", rows);
    target = Operand(operands, 2, "target", rows);
    labels = labelsOf(operands.integers(3, "labels", rows));
    lse = LogOperand(operands, 4, rows);
    operands.scalar(5, "loss_sum");
    operands.scalar(6, "count");
    ignored = {operands.flag(1), operands.integer(0)};
    accumulate = operands.accumulation(2);
  }
  void run(Rank &rank, void *const *buffers) override {
    labels.data = buffers[3];
    crossEntropyLoss(rows, gmax.read(buffers), rowsum.read(buffers), target.read(buffers), labels, ignored,
                     accumulates(accumulate, rank), lse.at(buffers), *static_cast<float *>(buffers[5]),
                     *static_cast<float *>(buffers[6]));
  }

private:
  int64_t rows;
  Operand gmax, rowsum, target;
  LogOperand lse;
  Integers labels;
  IgnoredLabels ignored;
  Accumulation accumulate;
};

class GradOp final : public LibraryOp {
public:
  GradOp(const CheckedOperands &operands, Rank &)
      : shard((operands.expect(4, 4), operands), operands.communicator(0), operands.integer(1)),
        labels(labelsOf(operands.integers(1, "labels", shard.shape.rows))), lse(operands, 2, shard.shape.rows),
        ignored{operands.flag(3), operands.integer(2)} {
    const dtcc_view &grad = operands.floats(3, "dlogits", {shard.shape.rows, shard.shape.columns});
    operands.expectContiguousRows(grad, "dlogits");
    gradStride = strideOf(grad, 0), type = static_cast<dtcc_dtype>(grad.dtype);
  }
  void run(Rank &rank, void *const *buffers) override {
    labels.data = buffers[1];
    crossEntropyGrad(rank.team, vectorKernels(), shard.on(rank), static_cast<const float *>(buffers[0]),
                     shard.rowStride, labels, lse.at(buffers), ignored, buffers[3], gradStride, type);
  }

private:
  Shard shard;
  Integers labels;
  LogOperand lse;
  IgnoredLabels ignored;
  int64_t gradStride;
  dtcc_dtype type;
};

} // namespace

DTCC_CPU_OP(CE_STATS, StatsOp)
DTCC_CPU_OP(CE_MERGE, MergeOp)
DTCC_CPU_OP(CE_LOSS, LossOp)
DTCC_CPU_OP(CE_GRAD, GradOp)

} // namespace dtcc::rt
