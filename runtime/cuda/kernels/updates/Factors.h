//===- Factors.h - Parameters of the kernels of Adafactor
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// These kernels do what runtime/kernels/Factors.h does, for all tensors of a bucket at a time. A table has the runs of
// cells by which a rank's share holds the tensors. Sums are taken in f64 and in an order that the sizes alone decide.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_UPDATES_FACTORS_H
#define DTCC_RUNTIME_CUDA_KERNELS_UPDATES_FACTORS_H

#include "runtime/abi/TensorFactors.h"

#include <cstdint>

namespace dtcc::rt::cuda {

constexpr int factorThreads = 256;

/// Runs of neighbouring cells of a tensor, all of one length and equally far from each other: those of a matrix whose
/// columns are sharded are one entry, however many rows there are.
struct FactoredRuns {
  int64_t begin, end;    // cells of the share, from the first run's first to the last run's last
  int64_t whole;         // cell of the whole tensor with which the first run begins
  int64_t length, count; // of a run; of runs
  int64_t step;          // from one run to the next in the share, at least `length`
  int64_t wholeStep;     // and in the whole tensor
  int64_t tensor;

  constexpr int64_t wholeEnd() const { return whole + (count - 1) * wholeStep + length; }
};

/// A tensor of the bucket.
struct FactoredTensor {
  TensorFactors shape;
  int64_t first;              // of its factors among those of the bucket
  int64_t firstRuns, endRuns; // entries of its runs, which ascend in the share and in the whole tensor
  int64_t firstMatrix;        // of its matrices among those of the bucket
  int64_t endMatrix;          // firstMatrix where the tensor has no columns

  constexpr int64_t endFactor() const { return first + shape.rows + shape.columns; }
};

/// Blocks of a launch that work on one tensor.
struct BlockRange {
  int64_t begin, end;
};

/// The part of a tensor that a share holds, and how it is divided among blocks.
struct HeldFactors {
  int64_t rowBegin, rowEnd;       // all rows of which the share has cells lie here
  int64_t columnBegin, columnEnd; // the same of columns, counted within a matrix
  int64_t matrixBegin, matrixEnd; // matrices of these rows
  BlockRange rowBlocks;           // of factor_row_squares
  int32_t rowThreads;             // of a row, of which a block has as many as fit: 1, 32 or all threads
  int32_t columnThreads;          // of a column of a part
  BlockRange columnBlocks;        // of factor_column_squares: those of the first part, then those of the next
  int64_t parts;                  // of the rows of a matrix, each of FactorSquares::rowsOfPart
  int64_t firstPartial;           // of the sums of the parts, if there are several
  BlockRange finishBlocks;        // of factor_column_finish; none for one part

  /// Columns that have sums: those of all matrices.
  constexpr int64_t columns() const { return (matrixEnd - matrixBegin) * (columnEnd - columnBegin); }
};

/// Sums of squares by row and by column, which `squares` holds zeros for before. factor_row_squares: a thread, a warp
/// or a block a row. factor_column_squares: one thread or several a column of a part of the rows. factor_column_finish:
/// a thread a column, which adds up the parts in order.
struct FactorSquares {
  const float *grad, *scale;
  const FactoredTensor *tensors;
  const HeldFactors *held; // one a tensor
  const FactoredRuns *runs;
  int64_t tensorCount, rowsOfPart;
  double *partial;
  float *squares;
};

/// Matrices whose mean a launch works out.
struct MeanBlocks {
  BlockRange blocks;
  int32_t threads; // of a matrix, of which a block has as many as fit: 1, 32 or all threads
};

/// factor_update: a thread a factor. factor_means: a thread, a warp or a block a matrix. adafactor_direction: a block a
/// chunk (wholeTensorChunk); cells outside every run are 0.
struct AdafactorDirection {
  const float *grad, *scale;
  const int64_t *step;
  const FactoredTensor *tensors;
  const MeanBlocks *means; // one a tensor
  const FactoredRuns *runs;
  int64_t tensorCount, runCount, factorCount, size;
  const float *squares;
  float *factors, *direction;
  float *meanOfMatrix; // of the rows, at least eps1
  double beta2Decay;
  float eps1;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_UPDATES_FACTORS_H
