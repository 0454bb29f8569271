//===- GroupedProduct.cu - Products of rows that pick a matrix of a stack
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are sorted by their id first (Sort.h), so that every matrix meets its own rows in
// one product: work is that of the rows, and no row is dropped. Products of f32, and what
// those of halves (GroupedMma.cu) need besides.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/product/GroupedRows.h"

using namespace dtcc::rt::cuda;

DTCC_KERNEL(grouped_product, GroupedProduct, productThreads) {
  const GroupSquare square = GroupSquare::of(p, productTile);
  if (square.group < 0)
    return;
  const int64_t first = square.first, columns = (p.n + productTile - 1) / productTile;
  const auto *lhs = static_cast<const float *>(p.lhs.data);
  const auto *matrix = static_cast<const float *>(p.matrices) + square.group * p.matrixStrides[0];
  productSquare(
      square.row / productTile * columns + blockY(), square.count, p.n, p.k, p.lhs.columnStride == 1,
      p.matrixStrides[1] == 1,
      [&](int64_t i, int64_t x) {
        return lhs[p.lhs.repeat(p.order[first + i]) * p.lhs.rowStride + x * p.lhs.columnStride];
      },
      [&](int64_t x, int64_t j) { return matrix[x * p.matrixStrides[1] + j * p.matrixStrides[2]]; },
      [&](int64_t i, int64_t j, float sum) {
        if (p.side.repeat.value == 1)
          static_cast<float *>(p.side.data)[p.order[first + i] * p.side.rowStride + j * p.side.columnStride] = sum;
        else
          p.products[(first + i) * p.n + j] = sum;
      });
}

// A thread a place.
DTCC_KERNEL(grouped_places, GroupedProduct, combineThreads) {
  int64_t place = blockX() * combineThreads + threadIndex();
  if (place < p.rows)
    p.places[p.order[place]] = place < p.begin[p.groups] ? static_cast<int32_t>(place) : -1;
}

DTCC_KERNEL(grouped_combine, GroupedProduct, combineThreads) {
  const int64_t i = blockX(), begin = i * p.side.repeat.value;
  // A row that is no sum is there already.
  if (p.side.repeat.value == 1 && p.places[begin] >= 0)
    return;
  for (int64_t c = threadIndex(); c < p.n; c += combineThreads) {
    float sum = 0;
    for (int64_t row = begin; row < begin + p.side.repeat.value; ++row)
      if (int32_t place = p.places[row]; place >= 0)
        sum += p.products[place * p.n + c];
    storeCell(p.side.data, p.outType, i * p.side.rowStride + c * p.side.columnStride, sum);
  }
}

DTCC_KERNEL(grouped_product_grad, GroupedProduct, productThreads) {
  for (int64_t group = blockZ(); group < p.groups; group += blocksZ()) {
    const int64_t first = p.begin[group], count = p.begin[group + 1] - first;
    auto *matrix = static_cast<float *>(p.matrices) + group * p.matrixStrides[0];
    auto cell = [&](const RepeatedRows &rows, int64_t x, int64_t column) {
      return static_cast<const float *>(
          rows.data)[rows.repeat(p.order[first + x]) * rows.rowStride + column * rows.columnStride];
    };
    productSquare(
        blockX(), p.k, p.n, count, false, false, [&](int64_t i, int64_t x) { return cell(p.lhs, x, i); },
        [&](int64_t x, int64_t j) { return cell(p.side, x, j); },
        [&](int64_t i, int64_t j, float sum) {
          float &to = matrix[i * p.matrixStrides[1] + j * p.matrixStrides[2]];
          to = p.accumulate ? to + sum : sum;
        });
  }
}
