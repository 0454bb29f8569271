//===- Orthogonalization.h - Muon's matrices on processors -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_ORTHOGONALIZATION_H
#define DTCC_RUNTIME_KERNELS_ORTHOGONALIZATION_H

#include "runtime/kernels/Matmul.h"

#include <vector>

namespace dtcc::rt {

struct OrthogonalizeOptions {
  int64_t steps = 5;
  double a = 3.4445, b = -4.7750, c = 2.0315, eps = 1e-7;
  bool matchRms = false;
};

/// The number by which an orthogonalized direction is multiplied.
float orthogonalScale(const OrthogonalizeOptions &options, int64_t rows, int64_t columns);

/// The type in which this processor multiplies numbers of bf16 the fastest: bf16, or f32 if it has no instructions for
/// products of bf16.
dtcc_dtype fastestTypeOfBF16();

/// Orthogonalizes matrices of one shape by steps of Newton and Schulz, with the roundings of torch.optim.Muon: what it
/// computes in bf16 is rounded to bf16 here, and products are summed in f32.
class Orthogonalization {
public:
  /// `held`: bf16 or f32, the type that holds the rounded numbers. Both give the same but for the order of sums.
  Orthogonalization(const OrthogonalizeOptions &options, int64_t rows, int64_t columns, const VectorKernels &kernels,
                    TeamScratch &scratch, dtcc_dtype held = fastestTypeOfBF16());
  /// The matrix that run() replaces: the start of the workspace (runtime/abi/OrthogonalizeWorkspace.h).
  float *matrix(std::byte *workspace) const { return reinterpret_cast<float *>(workspace); }
  void run(ThreadTeam &team, const TeamScratch &scratch, std::byte *workspace) const;

private:
  template <typename Held> void runIn(ThreadTeam &team, const TeamScratch &scratch, std::byte *workspace) const;

  OrthogonalizeOptions options;
  int64_t rows, columns;
  const VectorKernels &kernels;
  dtcc_dtype held;
  /// A product by blocks of rows. A symmetric one has a block's columns up to the end of its rows.
  struct Product {
    std::vector<ProductProblem> problems;
    std::vector<Matmul> blocks;
    /// Rows before each block, and of all.
    std::vector<int64_t> rows;
  };
  /// X X^T, A A and B X.
  Product squareOfX, squareOfGram, ofX;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_ORTHOGONALIZATION_H
