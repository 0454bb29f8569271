//===- GradSquares.cu - Squares of gradients by parameter
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two launches for a share of a bucket, however many parameters it has. Sums are taken in f64 and in an order that the
// sizes alone decide.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Cells.h"
#include "runtime/cuda/kernels/Reduce.h"
#include "runtime/cuda/kernels/updates/GradSquares.h"

using namespace dtcc::rt::cuda;

DTCC_KERNEL(grad_squares_pieces, GradSquaresOfShare, gradSquaresThreads) {
  DTCC_SHARED double room[gradSquaresThreads / warpSize];
  const GradPiece piece = p.pieces[blockX()];
  double sum = 0;
  for (int64_t i = piece.begin + threadIndex(); i < piece.end; i += gradSquaresThreads) {
    const float cell = cellAt(p.grad, p.type, i);
    sum += static_cast<double>(cell) * cell;
  }
  sum = sumBlock(sum, room);
  if (threadIndex() == 0)
    p.partial[blockX()] = sum;
}

DTCC_KERNEL(grad_squares_tensors, GradSquaresOfShare, gradSquaresThreads) {
  const int64_t number = blockX() * gradSquaresThreads + threadIndex();
  if (number >= p.tensorCount)
    return;
  const GradTensor tensor = p.tensors[number];
  double sum = 0;
  for (int64_t i = tensor.firstPiece; i < tensor.lastPiece; ++i)
    sum += p.partial[i];
  p.ofState[tensor.state] += sum;
}
