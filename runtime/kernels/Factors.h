//===- Factors.h - Second moments by rows and columns -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of a step of Adafactor (Shazeer and Stern 2018), as torch.optim has it, on cells that lie behind each other
// in a tensor. Sums over rows and columns are those of these cells; the program adds up the ranks' sums before the
// factors are updated (LibraryOps.def). Results do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_FACTORS_H
#define DTCC_RUNTIME_KERNELS_FACTORS_H

#include "runtime/abi/TensorFactors.h"
#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/vector/VectorKernels.h"

#include <span>

namespace dtcc::rt {

/// Neighbouring cells of a whole tensor, from cell `begin` on.
struct TensorCells {
  const TensorFactors &shape;
  int64_t begin, length;

  int64_t firstRow() const { return begin / shape.rowLength; }
  int64_t endRow() const { return (begin + length - 1) / shape.rowLength + 1; }
};

/// Adds the squares of scale * grad to the sums of the tensor: its rows, and behind them its columns.
void addFactorSquares(ThreadTeam &team, const VectorKernels &kernels, const TensorCells &cells, float scale,
                      const float *grad, float *sums);

/// Moves the factors of a tensor by `weight` towards the means that belong to `sums`.
void updateFactors(const TensorFactors &shape, float weight, const float *sums, float *factors);

/// The mean of the row factors of each matrix of a tensor, at least eps1.
void meansOfRows(ThreadTeam &team, const TensorFactors &shape, float eps1, const float *factors,
                 std::span<float> means);

/// Direction of the cells by the factors of their tensor and `means` of meansOfRows: scale * grad / sqrt of the
/// estimate.
void factoredDirection(ThreadTeam &team, const TensorCells &cells, float eps1, float scale, const float *factors,
                       std::span<const float> means, const float *grad, float *direction);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_FACTORS_H
