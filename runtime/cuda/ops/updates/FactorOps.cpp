//===- FactorOps.cpp - Adafactor as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/GpuWorkspace.h"
#include "runtime/cuda/kernels/updates/Factors.h"
#include "runtime/cuda/kernels/updates/WholeTensor.h"
#include "runtime/cuda/ops/updates/DirectionOp.h"
#include "runtime/kernels/ops/updates/FactorCommands.h"

namespace dtcc::rt::cuda {
namespace {

/// Each part of a matrix has sums over its columns of its own, and at least so many rows.
constexpr int64_t leastRowsOfPart = 256;

/// Threads that share a sum of so many numbers: a block for long ones, and one where a warp would have little to do.
int32_t threadsFor(int64_t numbers) { return numbers < 16 ? 1 : numbers < 2048 ? 32 : factorThreads; }

/// The next `count` blocks of a launch, of which `end` have work so far.
BlockRange blocksBehind(int64_t &end, int64_t count) {
  const int64_t begin = std::exchange(end, end + count);
  return {begin, end};
}

/// The tensors of a bucket and the runs of their cells in this rank's share, as kernels read them.
struct FactorTable {
  FactorTable(const FactoredBucket &bucket, const Rank &rank) {
    for (const FactoredBucket::Tensor &tensor : bucket.tensors) {
      FactoredTensor row = {tensor.shape, tensor.first, static_cast<int64_t>(runs.size()), 0, matrices, 0};
      if (tensor.shape.columns > 0)
        matrices += tensor.shape.rows / tensor.shape.columnLength;
      row.endMatrix = matrices;
      HeldFactors part = {};
      FactoredBucket::forEachRun(tensor, rank, [&](const Run &run) {
        add(run, static_cast<size_t>(row.firstRuns));
        hold(part, run, tensor.shape);
      });
      row.endRuns = static_cast<int64_t>(runs.size());
      tensors.push_back(row);
      held.push_back(part);
    }
  }

  std::vector<FactoredTensor> tensors;
  std::vector<HeldFactors> held; // without the blocks
  std::vector<FactoredRuns> runs;
  int64_t matrices = 0; // of tensors that have columns

private:
  /// Adds a run of the tensor whose entries begin with `first`: to the last of them if it goes on as that does.
  void add(const Run &run, size_t first) {
    if (runs.size() > first) {
      FactoredRuns &last = runs.back();
      if (last.count == 1 && last.length == run.length)
        last.step = run.local - last.begin, last.wholeStep = run.whole - last.whole;
      if (last.length == run.length && run.local == last.begin + last.count * last.step &&
          run.whole == last.whole + last.count * last.wholeStep) {
        ++last.count;
        last.end = run.local + run.length;
        return;
      }
    }
    runs.push_back({run.local, run.local + run.length, run.whole, run.length, 1, run.length, run.length,
                    static_cast<int64_t>(tensors.size())});
  }

  /// Widens the held part of a tensor by a run of its cells, which is not empty.
  static void hold(HeldFactors &part, const Run &run, const TensorFactors &shape) {
    const int64_t last = run.whole + run.length - 1, row = run.whole / shape.rowLength,
                  lastRow = last / shape.rowLength;
    const bool isOfOneRow = row == lastRow, isFirst = part.rowEnd == 0;
    const int64_t begin = isOfOneRow ? run.whole % shape.rowLength : 0;
    const int64_t end = isOfOneRow ? last % shape.rowLength + 1 : shape.rowLength;
    part.rowBegin = isFirst ? row : std::min(part.rowBegin, row);
    part.rowEnd = std::max(part.rowEnd, lastRow + 1);
    part.columnBegin = isFirst ? begin : std::min(part.columnBegin, begin);
    part.columnEnd = std::max(part.columnEnd, end);
    if (shape.columns == 0)
      return;
    part.matrixBegin = part.rowBegin / shape.columnLength;
    part.matrixEnd = (part.rowEnd - 1) / shape.columnLength + 1;
  }
};

class FactorSquaresOp final : public CudaOp {
public:
  FactorSquaresOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : FactorSquaresOp(FactorSquaresCommand(operands, rank), operands, rank, launcher) {}
  void run(Rank &rank, const Call &call) override {
    void *const squares[] = {call.buffers[2]};
    Call here = call;
    here.buffers = squares;
    clear->run(rank, here);
    p.grad = address<const float>(call, 0), p.scale = address<const float>(call, 1);
    p.squares = address<float>(call, 2), p.partial = at<double>(call, 0);
    rows(call, rowBlocks, factorThreads, p);
    columns(call, columnBlocks, factorThreads, p);
    finish(call, finishBlocks, factorThreads, p);
  }

private:
  FactorSquaresOp(const FactorSquaresCommand &command, const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : rows(launcher, "Factors", "factor_row_squares"), columns(launcher, "Factors", "factor_column_squares"),
        finish(launcher, "Factors", "factor_column_finish"), clear(bindFill(operands.operand(2), 0, launcher)) {
    FactorTable table(command.bucket, rank);
    p.rowsOfPart = leastRowsOfPart;
    int64_t sums = divide(table);
    for (; sums * doubleBytes > gpu_workspace::factorSquares(command.size); sums = divide(table))
      p.rowsOfPart *= 2;
    p.tensors = upload(launcher, table.tensors), p.tensorCount = static_cast<int64_t>(table.tensors.size());
    p.held = upload(launcher, table.held), p.runs = upload(launcher, table.runs);
    launcher.reserveWorkspace(static_cast<uint64_t>(sums * doubleBytes));
  }

  /// Divides the tensors among blocks by `rowsOfPart`, and returns the number of sums of parts.
  int64_t divide(FactorTable &table) {
    int64_t sums = 0;
    rowBlocks = columnBlocks = finishBlocks = 0;
    for (size_t i = 0; i < table.held.size(); ++i) {
      const TensorFactors &shape = table.tensors[i].shape;
      HeldFactors &held = table.held[i];
      held.rowThreads = threadsFor(shape.rowLength);
      held.rowBlocks = blocksBehind(rowBlocks, partsOf(held.rowEnd - held.rowBegin, factorThreads / held.rowThreads));
      const int64_t most = std::min(shape.columnLength, held.rowEnd - held.rowBegin);
      held.parts = partsOf(most, p.rowsOfPart);
      held.columnThreads = most > mostRowsOfThread ? columnThreads : 1;
      const int64_t blocks = partsOf(held.columns(), factorThreads / held.columnThreads);
      held.columnBlocks = blocksBehind(columnBlocks, held.parts * blocks);
      const bool isInParts = held.parts > 1;
      held.firstPartial = std::exchange(sums, sums + (isInParts ? held.parts * held.columns() : 0));
      held.finishBlocks = blocksBehind(finishBlocks, isInParts ? partsOf(held.columns(), factorThreads) : 0);
    }
    return sums;
  }

  static constexpr int64_t doubleBytes = sizeof(double);
  /// Longer columns have several threads.
  static constexpr int64_t mostRowsOfThread = 32;
  static constexpr int32_t columnThreads = 8;
  FactorSquares p = {};
  int64_t rowBlocks = 0, columnBlocks = 0, finishBlocks = 0;
  Kernel rows, columns, finish;
  std::unique_ptr<CudaOp> clear;
};

class AdafactorDirectionOp final : public DirectionOp {
public:
  AdafactorDirectionOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher)
      : DirectionOp(operands, rank, launcher, AdafactorCommand::operandCount, AdafactorCommand::attributeCount),
        update(launcher, "Factors", "factor_update"), means(launcher, "Factors", "factor_means"),
        kernel(launcher, "Factors", "adafactor_direction") {
    const AdafactorCommand command(operands, segments, rank, communicator);
    const FactorTable table(command.bucket, rank);
    std::vector<MeanBlocks> blocks;
    for (const FactoredTensor &tensor : table.tensors) {
      const int32_t threads = threadsFor(tensor.shape.columnLength);
      const int64_t matrices = tensor.endMatrix - tensor.firstMatrix;
      blocks.push_back({blocksBehind(meanBlocks, partsOf(matrices, factorThreads / threads)), threads});
    }
    p.tensors = upload(launcher, table.tensors), p.tensorCount = static_cast<int64_t>(table.tensors.size());
    p.runs = upload(launcher, table.runs), p.runCount = static_cast<int64_t>(table.runs.size());
    p.means = upload(launcher, blocks);
    p.factorCount = command.bucket.factors, p.size = size;
    p.beta2Decay = command.beta2Decay, p.eps1 = command.eps1;
    launcher.reserveWorkspace(static_cast<uint64_t>(table.matrices) * sizeof(float));
  }

private:
  void direct(const Call &call) override {
    p.grad = address<const float>(call, 0), p.scale = address<const float>(call, 1);
    p.step = address<const int64_t>(call, 3);
    p.squares = address<const float>(call, AdafactorCommand::squares);
    p.factors = address<float>(call, AdafactorCommand::factors);
    p.direction = address<float>(call, AdafactorCommand::direction);
    p.meanOfMatrix = at<float>(call, 0);
    update(call, partsOf(p.factorCount, factorThreads), factorThreads, p);
    means(call, meanBlocks, factorThreads, p);
    kernel(call, partsOf(p.size, wholeTensorChunk), wholeTensorThreads, p);
  }

  AdafactorDirection p = {};
  int64_t meanBlocks = 0;
  Kernel update, means, kernel;
};

} // namespace

DTCC_CUDA_OP(FACTOR_SQUARES, FactorSquaresOp)
DTCC_CUDA_OP(ADAFACTOR_DIRECTION, AdafactorDirectionOp)

} // namespace dtcc::rt::cuda
