//===- CrossEntropy.h - Parameters of the kernels of cross entropy
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_CROSSENTROPY_H
#define DTCC_RUNTIME_CUDA_KERNELS_CROSSENTROPY_H

#include "runtime/cuda/kernels/Vectors.h"

namespace dtcc::rt::cuda {

constexpr int crossEntropyThreads = 256;
constexpr int crossEntropyLossThreads = 1024;

/// Rows of class scores with their labels (LibraryOps.def). Column 0 of a row is class `offset`; columns from `valid`
/// on are padding.
struct ClassRows {
  int64_t rows, columns, offset, valid;
  Integers labels;
  int64_t ignoreIndex;
  int32_t hasIgnore;
};

/// The logarithm of the sum of exp(score) of each row, in f64 or f32.
struct RowLogs {
  void *data;
  int64_t stride;
  int32_t wide;
};

/// cross_entropy_stats: a block a row.
struct CrossEntropyStats {
  ClassRows shape;
  const float *logits;
  int64_t rowStride;
  FloatVector rowmax, rowsum, target;
};

/// cross_entropy_merge: a thread a row.
struct CrossEntropyMerge {
  int64_t rows;
  FloatVector rowmax, gmax, rowsum;
};

/// cross_entropy_loss: one block.
struct CrossEntropyLoss {
  ClassRows shape; // without columns
  FloatVector gmax, rowsum, target;
  RowLogs lse;
  float *lossSum, *count;
  int32_t accumulate;
};

/// cross_entropy_grad_TYPE, that of `dlogits`: a block a row.
struct CrossEntropyGrad {
  ClassRows shape;
  const float *logits;
  void *dlogits;
  int64_t rowStride, gradStride;
  RowLogs lse;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_CROSSENTROPY_H
