//===- GroupedProduct.h - Parameters of the kernels of rows that pick a matrix
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_GROUPEDPRODUCT_H
#define DTCC_RUNTIME_CUDA_KERNELS_GROUPEDPRODUCT_H

#include "runtime/cuda/kernels/Product.h"
#include "runtime/cuda/kernels/Vectors.h"

namespace dtcc::rt::cuda {

constexpr int combineThreads = 128;

/// Rows of ids: row r is row r / repeat of the matrix.
struct RepeatedRows {
  float *data;
  int64_t rowStride, columnStride;
  int32_t repeat;
};

/// grouped_product       products[place, n] = lhs[row at place, k] * matrix[group of the place, k, n]; blocks of
///                       places of one group. Grid: blocks (at most rows / productTile + groups), columns.
/// grouped_combine       out[i, n] = the sum over its rows, in order, of their products. A block a row.
/// grouped_product_grad  matrix[e, k, n] = (accumulate) + sum over rows of e of lhs[row, k] rhs[row, n]. Grid: tiles,
/// 1, e.
struct GroupedProduct {
  int64_t rows, groups, k, n; // rows: ids
  RepeatedRows lhs, rhs, out;
  float *matrices;
  int64_t matrixStrides[3];
  const int32_t *order, *begin; // see Sort.h
  int32_t *places;              // of each row, or -1
  float *products;
  int32_t accumulate;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_GROUPEDPRODUCT_H
