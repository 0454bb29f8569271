//===- FactorCommands.h - Commands of Adafactor, on any device
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_OPS_UPDATES_FACTORCOMMANDS_H
#define DTCC_RUNTIME_KERNELS_OPS_UPDATES_FACTORCOMMANDS_H

#include "runtime/kernels/ops/updates/UpdateRanges.h"

#include <vector>

namespace dtcc::rt {

/// The tensors of a bucket with their factors, and this rank's share of them.
struct FactoredBucket {
  struct Tensor {
    TensorFactors shape;
    int64_t first; /* of its factors among those of the bucket */
    StateLayout layout;
  };

  FactoredBucket() = default;
  FactoredBucket(const BucketSegments &segments, const Rank &rank, int64_t communicator);
  /// Calls `body` with each run of a tensor's cells in the share, in ascending order.
  template <typename Body> static void forEachRun(const Tensor &tensor, const Rank &rank, Body body) {
    HeldRuns runs(rank.image.mesh(), tensor.layout, rank.coordinates.data(), /*strides=*/nullptr);
    for (Run run; runs.next(run);)
      body(run);
  }

  std::vector<Tensor> tensors;
  int64_t factors = 0; /* of all tensors */
};

/// Operands of `factor_squares`, checked.
struct FactorSquaresCommand {
  FactorSquaresCommand(const CheckedOperands &operands, const Rank &rank);

  int64_t size; // cells of the share
  FactoredBucket bucket;
};

/// Operands and attributes that `adafactor_direction` has besides those of all directions, checked.
struct AdafactorCommand {
  /// Operands and attributes of the command.
  static constexpr size_t operandCount = 7, attributeCount = 4;
  /// Positions of operands.
  static constexpr size_t squares = 4, factors = 5, direction = 6;

  AdafactorCommand(const CheckedOperands &operands, const BucketSegments &segments, const Rank &rank,
                   int64_t communicator);

  FactoredBucket bucket;
  double beta2Decay;
  float eps1;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_OPS_UPDATES_FACTORCOMMANDS_H
