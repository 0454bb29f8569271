//===- GroupedProduct.cu - Products of rows that pick a matrix of a stack
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are sorted by their id first (Sort.h), so that every matrix meets its own rows in
// one product: work is that of the rows, and no row is dropped.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/GroupedProduct.h"
#include "runtime/cuda/kernels/TiledProduct.h"

using namespace dtcc::rt::cuda;

DTCC_KERNEL(grouped_product, GroupedProduct, productThreads) {
  // The group that block x works for, and which of its squares' rows: the last group has what is left.
  int64_t block = blockX(), group = 0, count = 0;
  for (; group < p.groups; ++group) {
    count = p.begin[group + 1] - p.begin[group];
    int64_t blocks = (count + productTile - 1) / productTile;
    if (block < blocks)
      break;
    block -= blocks;
  }
  if (group == p.groups)
    return;
  const int64_t first = p.begin[group], columns = (p.n + productTile - 1) / productTile;
  const float *matrix = p.matrices + group * p.matrixStrides[0];
  productSquare(
      block * columns + blockY(), count, p.n, p.k, p.lhs.columnStride == 1, p.matrixStrides[1] == 1,
      [&](int64_t i, int64_t x) {
        return p.lhs.data[p.order[first + i] / p.lhs.repeat * p.lhs.rowStride + x * p.lhs.columnStride];
      },
      [&](int64_t x, int64_t j) { return matrix[x * p.matrixStrides[1] + j * p.matrixStrides[2]]; },
      [&](int64_t i, int64_t j, float sum) { p.products[(first + i) * p.n + j] = sum; });
}

// A thread a place.
DTCC_KERNEL(grouped_places, GroupedProduct, combineThreads) {
  int64_t place = blockX() * combineThreads + threadIndex();
  if (place < p.rows)
    p.places[p.order[place]] = place < p.begin[p.groups] ? static_cast<int32_t>(place) : -1;
}

DTCC_KERNEL(grouped_combine, GroupedProduct, combineThreads) {
  const int64_t i = blockX();
  for (int64_t c = threadIndex(); c < p.n; c += combineThreads) {
    float sum = 0;
    for (int64_t row = i * p.out.repeat; row < (i + 1) * p.out.repeat; ++row)
      if (int32_t place = p.places[row]; place >= 0)
        sum += p.products[place * p.n + c];
    p.out.data[i * p.out.rowStride + c * p.out.columnStride] = sum;
  }
}

DTCC_KERNEL(grouped_product_grad, GroupedProduct, productThreads) {
  for (int64_t group = blockZ(); group < p.groups; group += blocksZ()) {
    const int64_t first = p.begin[group], count = p.begin[group + 1] - first;
    float *matrix = p.matrices + group * p.matrixStrides[0];
    auto cell = [&](const RepeatedRows &rows, int64_t x, int64_t column) {
      return rows.data[p.order[first + x] / rows.repeat * rows.rowStride + column * rows.columnStride];
    };
    productSquare(
        blockX(), p.k, p.n, count, false, false, [&](int64_t i, int64_t x) { return cell(p.lhs, x, i); },
        [&](int64_t x, int64_t j) { return cell(p.rhs, x, j); },
        [&](int64_t i, int64_t j, float sum) {
          float &to = matrix[i * p.matrixStrides[1] + j * p.matrixStrides[2]];
          to = p.accumulate ? to + sum : sum;
        });
  }
}
