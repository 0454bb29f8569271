//===- GradSquares.h - Parameters of the kernels of norms by parameter
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_UPDATES_GRADSQUARES_H
#define DTCC_RUNTIME_CUDA_KERNELS_UPDATES_GRADSQUARES_H

#include <cstdint>

namespace dtcc::rt::cuda {

constexpr int gradSquaresThreads = 256;
/// Elements of the longest piece: one block adds up its squares.
constexpr int64_t gradSquaresPiece = int64_t{1} << 16;

/// Neighbouring elements of a share, all of one parameter.
struct GradPiece {
  int64_t begin, end;
};
/// Consecutive pieces that are one parameter's.
struct GradTensor {
  int64_t firstPiece, lastPiece; // the last is not part of it
  int64_t state;
};

/// grad_squares_pieces: a block a piece. grad_squares_tensors: a thread a tensor, which adds up its pieces in order.
struct GradSquaresOfShare {
  const void *grad;
  int32_t type; // dtcc_dtype of `grad`
  const GradPiece *pieces;
  const GradTensor *tensors;
  int64_t tensorCount;
  double *partial; // one a piece
  double *ofState; // one a state of the program
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_UPDATES_GRADSQUARES_H
