//===- GroupedProduct.h - Parameters of the kernels of rows that pick a matrix
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_GROUPEDPRODUCT_H
#define DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_GROUPEDPRODUCT_H

#include "runtime/cuda/kernels/Division.h"
#include "runtime/cuda/kernels/Vectors.h"
#include "runtime/cuda/kernels/product/Product.h"

namespace dtcc::rt::cuda {

constexpr int combineThreads = 128;

/// Rows of ids: row r is row r / repeat of the matrix.
struct RepeatedRows {
  void *data;
  int64_t rowStride, columnStride;
  Division repeat;
  int32_t units; // eight halves of a row, from a multiple of eight on, are one load of 16 bytes
};

/// Arguments of the grouped products. The f32 kernels are in GroupedProduct.cu; those of halves (_bf16, _f16) are in
/// GroupedMma.cu, with squares of halfTile, or tiles of wideRows x wideColumns (_wide) where all operands come in
/// units, and two forms of the first: cells of a matrix adjacent along k (_k) or n (_n).
///
/// grouped_product       the rows of a group times its matrix: to out where each row is one of out's, else to products.
///                       Grid: squares of rows (at most rows / square + groups), of columns.
/// grouped_combine       out[i, n] = the sum over its rows, in order, of their products; rows of out of no group get 0.
///                       A block a row.
/// grouped_product_grad  matrix[e, k, n] = (accumulate) + sum over rows of e of lhs[row, k] rhs[row, n]. Grid: squares,
///                       1, e.
struct GroupedProduct {
  int64_t rows, groups, k, n; // rows: ids
  RepeatedRows lhs, side;     // side: out, or rhs of the gradient
  void *matrices;
  int64_t matrixStrides[3];
  const int32_t *order, *begin; // see Sort.h
  int32_t *places;              // of each row, or -1
  float *products;              // [places, n], where rows of out are sums
  int32_t outType;              // dtcc_dtype
  int32_t matrixUnits;          // as RepeatedRows::units, along whichever of k and n is adjacent
  int32_t pairs;                // two adjacent cells of the result, the first even, are stored at once
  int32_t accumulate;
};

} // namespace dtcc::rt::cuda

#endif // DTCC_RUNTIME_CUDA_KERNELS_PRODUCT_GROUPEDPRODUCT_H
