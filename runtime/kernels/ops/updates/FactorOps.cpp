//===- FactorOps.cpp - The library ops of Adafactor -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Factors.h"
#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"
#include "runtime/kernels/ops/updates/FactorCommands.h"

#include <algorithm>
#include <cmath>

namespace dtcc::rt {
namespace {

TensorCells cellsOf(const FactoredBucket::Tensor &tensor, const Run &run) {
  return {tensor.shape, run.whole, run.length};
}

class FactorSquaresOp final : public LibraryOp {
public:
  FactorSquaresOp(const CheckedOperands &operands, const Rank &rank)
      : bucket(FactorSquaresCommand(operands, rank).bucket) {}
  void run(Rank &rank, void *const *buffers) override {
    const float *grad = static_cast<const float *>(buffers[0]), scale = *static_cast<const float *>(buffers[1]);
    auto *squares = static_cast<float *>(buffers[2]);
    std::fill_n(squares, bucket.factors, 0.0f);
    if (std::isnan(scale))
      return;
    for (const FactoredBucket::Tensor &tensor : bucket.tensors)
      FactoredBucket::forEachRun(tensor, rank, [&](const Run &run) {
        addFactorSquares(rank.team, vectorKernels(), cellsOf(tensor, run), scale, grad + run.local,
                         squares + tensor.first);
      });
  }

private:
  FactoredBucket bucket;
};

class AdafactorDirectionOp final : public GradientOp {
public:
  AdafactorDirectionOp(const CheckedOperands &operands, const Rank &rank)
      : GradientOp(operands, rank, AdafactorCommand::operandCount, AdafactorCommand::attributeCount),
        command(operands, segments, rank, communicator) {
    operands.dense(AdafactorCommand::direction, "direction", size);
    int64_t most = 0;
    for (const FactoredBucket::Tensor &tensor : command.bucket.tensors)
      most = std::max(most, tensor.shape.rows / tensor.shape.columnLength);
    means.resize(static_cast<size_t>(most));
  }
  void update(Rank &rank, void *const *buffers) override {
    const float scale = *floats(buffers, 1);
    if (std::isnan(scale))
      return;
    const auto weight = static_cast<float>(std::pow(static_cast<double>(stepOf(buffers)), command.beta2Decay));
    const float *grad = floats(buffers, 0), *squares = floats(buffers, AdafactorCommand::squares);
    float *factors = floats(buffers, AdafactorCommand::factors);
    float *direction = floats(buffers, AdafactorCommand::direction);
    std::fill_n(direction, size, 0.0f);
    for (const FactoredBucket::Tensor &tensor : command.bucket.tensors) {
      updateFactors(tensor.shape, weight, squares + tensor.first, factors + tensor.first);
      meansOfRows(rank.team, tensor.shape, command.eps1, factors + tensor.first, means);
      FactoredBucket::forEachRun(tensor, rank, [&](const Run &run) {
        factoredDirection(rank.team, cellsOf(tensor, run), command.eps1, scale, factors + tensor.first, means,
                          grad + run.local, direction + run.local);
      });
    }
  }

private:
  AdafactorCommand command;
  std::vector<float> means; /* of the rows of each matrix */
};

} // namespace

DTCC_CPU_OP(FACTOR_SQUARES, FactorSquaresOp)
DTCC_CPU_OP(ADAFACTOR_DIRECTION, AdafactorDirectionOp)

} // namespace dtcc::rt
