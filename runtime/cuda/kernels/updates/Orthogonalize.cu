//===- Orthogonalize.cu - Between the products of Muon's matrices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roundings are those of runtime/kernels/WholeTensor.cpp, and so of torch.optim.Muon.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Device.h"
#include "runtime/cuda/kernels/Math.h"
#include "runtime/cuda/kernels/Reduce.h"
#include "runtime/cuda/kernels/updates/Orthogonalize.h"

using namespace dtcc::rt::cuda;

namespace {

DTCC_DEVICE int64_t threadNumber() { return blockX() * orthogonalizeThreads + threadIndex(); }

DTCC_DEVICE float roundToBF16(float value) { return static_cast<float>(static_cast<__bf16>(value)); }

/// The cell of the matrix that cell i of X is: X is the transpose of a matrix with more rows than columns.
DTCC_DEVICE int64_t cellOf(int64_t i, int64_t rows, int64_t columns) {
  return rows > columns ? i % rows * columns + i / rows : i;
}

struct BlockCell {
  int64_t whole, local;
};
/// Cell i of a block in the whole matrix and in the memory of the block.
DTCC_DEVICE BlockCell cellOf(const MatrixBlock &block, int64_t i) {
  BlockCell cell = {block.first, 0};
  for (int d = block.rank - 1; d >= 0; --d) {
    const int64_t position = i % block.sizes[d];
    i /= block.sizes[d];
    cell.whole += position * block.wholeStrides[d];
    cell.local += position * block.localStrides[d];
  }
  return cell;
}

} // namespace

DTCC_KERNEL(matrix_gather, MatrixGather, orthogonalizeThreads) {
  const int64_t i = threadNumber();
  if (i >= p.block.cells)
    return;
  const BlockCell cell = cellOf(p.block, i);
  p.matrix[cell.whole] = p.from[cell.local];
}

DTCC_KERNEL(matrix_scatter, MatrixScatter, orthogonalizeThreads) {
  const int64_t i = threadNumber();
  if (i >= p.block.cells)
    return;
  const BlockCell cell = cellOf(p.block, i);
  const int64_t at = p.begin + cell.local;
  if (at >= 0 && at < p.size)
    p.share[at] = p.matrix[cell.whole];
}

DTCC_KERNEL(matrix_squares, MatrixNormalize, orthogonalizeThreads) {
  DTCC_SHARED double room[orthogonalizeThreads / warpSize];
  double sum = 0;
  for (int64_t i = threadNumber(); i < p.rows * p.columns; i += orthogonalizeBlocks * orthogonalizeThreads) {
    const double cell = roundToBF16(p.matrix[i]);
    sum += cell * cell;
  }
  sum = sumBlock(sum, room);
  if (threadIndex() == 0)
    p.partial[blockX()] = sum;
}

DTCC_KERNEL(matrix_norm, MatrixNormalize, orthogonalizeThreads) {
  DTCC_SHARED double room[orthogonalizeThreads / warpSize];
  double sum = 0;
  for (int64_t i = threadIndex(); i < orthogonalizeBlocks; i += orthogonalizeThreads)
    sum += p.partial[i];
  sum = sumBlock(sum, room);
  if (threadIndex() == 0)
    *p.norm = maximum(roundToBF16(static_cast<float>(__builtin_sqrt(sum))), roundToBF16(p.eps));
}

DTCC_KERNEL(matrix_normalize, MatrixNormalize, orthogonalizeThreads) {
  const int64_t i = threadNumber();
  if (i < p.rows * p.columns)
    static_cast<__bf16 *>(p.x)[i] = static_cast<__bf16>(roundToBF16(p.matrix[cellOf(i, p.rows, p.columns)]) / *p.norm);
}

DTCC_KERNEL(matrix_combine, MatrixCombine, orthogonalizeThreads) {
  const int64_t i = threadNumber();
  if (i >= p.cells)
    return;
  const float before = p.a == 0 ? 0 : p.a * static_cast<float>(static_cast<const __bf16 *>(p.from)[i]);
  static_cast<__bf16 *>(p.to)[i] = static_cast<__bf16>(before + p.b * p.sums[i]);
}

DTCC_KERNEL(matrix_scale, MatrixScale, orthogonalizeThreads) {
  const int64_t i = threadNumber();
  if (i < p.rows * p.columns)
    p.matrix[cellOf(i, p.rows, p.columns)] = static_cast<float>(static_cast<const __bf16 *>(p.x)[i]) * p.scale;
}
