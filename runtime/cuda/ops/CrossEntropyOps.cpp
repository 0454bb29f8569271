//===- CrossEntropyOps.cpp - Cross entropy as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/CrossEntropy.h"
#include "runtime/cuda/ops/Operands.h"

namespace dtcc::rt::cuda {
namespace {

/// Rows of logits, and the coordinate of their columns.
class Shard {
public:
  Shard(const CheckedOperands &operands, int64_t communicator, int64_t classes)
      : communicator(communicator), classes(classes) {
    const dtcc_view &logits = operands.tensor(0, "logits", {-1, -1});
    operands.expectContiguousRows(logits, "logits");
    if (classes < 1)
      operands.reject("classes must be at least 1, got: ", classes);
    rows = logits.sizes[0], columns = logits.sizes[1], rowStride = strideOf(logits, 0);
    labels = IntegerOperand(operands, 1, "labels", rows);
  }
  ClassRows on(const Rank &rank, const Call &call) const {
    int64_t offset = rank.groupIndex(communicator) * columns;
    return {rows,
            columns,
            offset,
            std::clamp<int64_t>(classes - offset, 0, columns),
            labels.at(call),
            /*ignoreIndex=*/0,
            /*hasIgnore=*/0};
  }

  int64_t rows = 0, columns = 0, rowStride = 0;

private:
  int64_t communicator, classes;
  IntegerOperand labels;
};

/// Logarithms of the sums of rows, of either type.
class LogOperand {
public:
  LogOperand() = default;
  LogOperand(const CheckedOperands &operands, size_t index, int64_t size)
      : index(index), wide(operands.operand(index).dtype == DTCC_F64),
        stride(strideOf(operands.tensor(index, "lse", {size}, wide ? DTCC_F64 : DTCC_F32), 0)) {}
  RowLogs at(const Call &call) const { return {call.buffers[index], stride, wide}; }

private:
  size_t index = 0;
  bool wide = false;
  int64_t stride = 1;
};

class StatsOp final : public CudaOp {
public:
  StatsOp(const CheckedOperands &operands, Rank &, Launcher &launcher)
      : shard((operands.expect(5, 2), operands), operands.communicator(0), operands.integer(1)),
        rowmax(operands, 2, "rowmax", shard.rows), rowsum(operands, 3, "rowsum", shard.rows),
        target(operands, 4, "target", shard.rows), kernel(launcher, "CrossEntropy", "cross_entropy_stats"),
        blocks(loopBlocks(shard.rows, launcher)) {}
  void run(Rank &rank, const Call &call) override {
    kernel(call, blocks, crossEntropyThreads,
           CrossEntropyStats{shard.on(rank, call), address<const float>(call, 0), shard.rowStride, rowmax.at(call),
                             rowsum.at(call), target.at(call)});
  }

private:
  Shard shard;
  FloatOperand rowmax, rowsum, target;
  Kernel kernel;
  int64_t blocks;
};

class MergeOp final : public CudaOp {
public:
  MergeOp(const CheckedOperands &operands, Rank &, Launcher &launcher)
      : kernel(launcher, "CrossEntropy", "cross_entropy_merge") {
    operands.expect(3, 0);
    rows = operands.tensor(0, "rowmax", {-1}).sizes[0];
    const char *names[] = {"rowmax", "gmax", "rowsum"};
    for (size_t i = 0; i < 3; ++i)
      vectors[i] = FloatOperand(operands, i, names[i], rows);
  }
  void run(Rank &, const Call &call) override {
    kernel(call, partsOf(rows, crossEntropyThreads), crossEntropyThreads,
           CrossEntropyMerge{rows, vectors[0].at(call), vectors[1].at(call), vectors[2].at(call)});
  }

private:
  int64_t rows;
  FloatOperand vectors[3];
  Kernel kernel;
};

class LossOp final : public CudaOp {
public:
  LossOp(const CheckedOperands &operands, Rank &, Launcher &launcher)
      : kernel(launcher, "CrossEntropy", "cross_entropy_loss") {
    operands.expect(7, 3);
    rows = operands.tensor(0, "gmax", {-1}).sizes[0];
    gmax = FloatOperand(operands, 0, "gmax", rows), rowsum = FloatOperand(operands, 1, "rowsum", rows);
    target = FloatOperand(operands, 2, "target", rows), labels = IntegerOperand(operands, 3, "labels", rows);
    lse = LogOperand(operands, 4, rows);
    operands.scalar(5, "loss_sum");
    operands.scalar(6, "count");
    ignoreIndex = operands.integer(0), hasIgnore = operands.flag(1);
    accumulate = operands.accumulation(2);
  }
  void run(Rank &rank, const Call &call) override {
    ClassRows shape = {rows, 0, 0, 0, labels.at(call), ignoreIndex, hasIgnore};
    kernel(call, 1, crossEntropyLossThreads,
           CrossEntropyLoss{shape, gmax.at(call), rowsum.at(call), target.at(call), lse.at(call),
                            address<float>(call, 5), address<float>(call, 6), accumulates(accumulate, rank)});
  }

private:
  int64_t rows, ignoreIndex;
  FloatOperand gmax, rowsum, target;
  LogOperand lse;
  IntegerOperand labels;
  bool hasIgnore;
  Accumulation accumulate;
  Kernel kernel;
};

class GradOp final : public CudaOp {
public:
  GradOp(const CheckedOperands &operands, Rank &, Launcher &launcher)
      : shard((operands.expect(4, 4), operands), operands.communicator(0), operands.integer(1)),
        lse(operands, 2, shard.rows), blocks(loopBlocks(shard.rows, launcher)) {
    const dtcc_view &grad = operands.floats(3, "dlogits", {shard.rows, shard.columns});
    operands.expectContiguousRows(grad, "dlogits");
    kernel = Kernel(launcher, "CrossEntropy", (std::string("cross_entropy_grad_") + typeName(grad.dtype)).c_str());
    gradStride = strideOf(grad, 0);
    ignoreIndex = operands.integer(2), hasIgnore = operands.flag(3);
  }
  void run(Rank &rank, const Call &call) override {
    ClassRows shape = shard.on(rank, call);
    shape.ignoreIndex = ignoreIndex, shape.hasIgnore = hasIgnore;
    kernel(call, blocks, crossEntropyThreads,
           CrossEntropyGrad{shape, address<const float>(call, 0), call.buffers[3], shard.rowStride, gradStride,
                            lse.at(call)});
  }

private:
  Shard shard;
  LogOperand lse;
  Kernel kernel;
  int64_t blocks, gradStride, ignoreIndex;
  bool hasIgnore;
};

} // namespace

DTCC_CUDA_OP(CE_STATS, StatsOp)
DTCC_CUDA_OP(CE_MERGE, MergeOp)
DTCC_CUDA_OP(CE_LOSS, LossOp)
DTCC_CUDA_OP(CE_GRAD, GradOp)

} // namespace dtcc::rt::cuda
