//===- FactorOps.cpp - The library ops of Adafactor -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Factors.h"
#include "runtime/kernels/ops/CheckedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"
#include "runtime/kernels/ops/updates/UpdateRanges.h"

#include <algorithm>
#include <cmath>

namespace dtcc::rt {
namespace {

/// The tensors of a bucket with their factors, and this rank's share of them.
struct FactoredBucket {
  struct Tensor {
    TensorFactors shape;
    int64_t first; /* of its factors among those of the bucket */
    StateLayout layout;
  };

  FactoredBucket(const BucketSegments &segments, const Rank &rank, int64_t communicator) {
    for (const dtcc_segment *segment : segments.all) {
      tensors.push_back({factorsOf(*segment, rank), factors, shareLayout(*segment, rank, communicator)});
      factors += tensors.back().shape.rows + tensors.back().shape.columns;
    }
  }
  /// Calls `body` with the cells of a tensor in the share, and where they begin there.
  template <typename Body> static void forEachRun(const Tensor &tensor, const Rank &rank, Body body) {
    HeldRuns runs(rank.image.mesh(), tensor.layout, rank.coordinates.data(), /*strides=*/nullptr);
    for (Run run; runs.next(run);)
      body(TensorCells{tensor.shape, run.whole, run.length}, run.local);
  }

  std::vector<Tensor> tensors;
  int64_t factors = 0; /* of all tensors */
};

class FactorSquaresOp final : public LibraryOp {
public:
  FactorSquaresOp(const CheckedOperands &operands, const Rank &rank) : bucket(bucketOf(operands, rank)) {
    operands.scalar(1, "scale");
    operands.dense(2, "squares", bucket.factors);
  }
  void run(Rank &rank, void *const *buffers) override {
    const float *grad = static_cast<const float *>(buffers[0]), scale = *static_cast<const float *>(buffers[1]);
    auto *squares = static_cast<float *>(buffers[2]);
    std::fill_n(squares, bucket.factors, 0.0f);
    if (std::isnan(scale))
      return;
    for (const FactoredBucket::Tensor &tensor : bucket.tensors)
      FactoredBucket::forEachRun(tensor, rank, [&](const TensorCells &cells, int64_t local) {
        addFactorSquares(rank.team, vectorKernels(), cells, scale, grad + local, squares + tensor.first);
      });
  }

private:
  static FactoredBucket bucketOf(const CheckedOperands &operands, const Rank &rank) {
    operands.expect(3, 2);
    const int64_t size = operands.dense(0, "grad", -1).sizes[0], communicator = operands.communicator(1);
    return {bucketSegments(operands, rank, operands.integer(0), communicator, size), rank, communicator};
  }

  FactoredBucket bucket;
};

class AdafactorDirectionOp final : public GradientOp {
public:
  AdafactorDirectionOp(const CheckedOperands &operands, const Rank &rank)
      : GradientOp(operands, rank, 8, 4), bucket(segments, rank, communicator), beta2Decay(operands.real(2)),
        eps1(static_cast<float>(operands.real(3))) {
    operands.dense(4, "p", size);
    operands.dense(5, "squares", bucket.factors);
    operands.dense(6, "factors", bucket.factors);
    operands.dense(7, "direction", size);
    int64_t most = 0;
    for (const FactoredBucket::Tensor &tensor : bucket.tensors)
      most = std::max(most, tensor.shape.rows / tensor.shape.columnLength);
    means.resize(static_cast<size_t>(most));
  }
  void update(Rank &rank, void *const *buffers) override {
    const float scale = *floats(buffers, 1);
    if (std::isnan(scale))
      return;
    const auto weight = static_cast<float>(std::pow(static_cast<double>(stepOf(buffers)), beta2Decay));
    const float *grad = floats(buffers, 0), *squares = floats(buffers, 5);
    float *factors = floats(buffers, 6), *direction = floats(buffers, 7);
    std::fill_n(direction, size, 0.0f);
    for (const FactoredBucket::Tensor &tensor : bucket.tensors) {
      updateFactors(tensor.shape, weight, squares + tensor.first, factors + tensor.first);
      FactoredBucket::forEachRun(tensor, rank, [&](const TensorCells &cells, int64_t local) {
        factoredDirection(rank.team, cells, eps1, scale, factors + tensor.first, means, grad + local,
                          direction + local);
      });
    }
  }

private:
  FactoredBucket bucket;
  double beta2Decay;
  float eps1;
  std::vector<float> means; /* of the rows of each matrix */
};

} // namespace

DTCC_CPU_OP(FACTOR_SQUARES, FactorSquaresOp)
DTCC_CPU_OP(ADAFACTOR_DIRECTION, AdafactorDirectionOp)

} // namespace dtcc::rt
