//===- Product.cpp - Matrix products without a library -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For products that no workspace was planned for, and for builds without oneDNN.
// A block of the result is summed in scratch memory over packed panels of the
// right operand, in an order that depends on the sizes alone.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/vector/SmallProduct.h"
#include "runtime/kernels/vector/Table.h"

namespace dtcc::rt::DTCC_SIMD_LEVEL {
namespace {

DTCC_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// panel[k][c] = b[k, c], columns padded with zeros to whole vectors.
void packPanel(const float *b, int64_t rowStride, int64_t columnStride, int64_t depth, int64_t columns, float *panel) {
  int64_t padded = (columns + lanes - 1) / lanes * lanes;
  if (columnStride == 1) {
    for (int64_t k = 0; k < depth; ++k) {
      float *to = panel + k * productColumns;
      __builtin_memcpy(to, b + k * rowStride, (size_t)columns * sizeof(float));
      for (int64_t c = columns; c < padded; ++c)
        to[c] = 0;
    }
    return;
  }
  for (int64_t c = 0; c < padded; ++c) {
    int64_t k = 0;
    if (rowStride == 1 && c % lanes == 0 && c + lanes <= columns) {
      for (; k + lanes <= depth; k += lanes)
        transposeSquare(b + c * columnStride + k, columnStride, panel + k * productColumns + c, productColumns, 1.0f);
      for (; k < depth; ++k)
        for (int64_t l = 0; l < lanes; ++l)
          panel[k * productColumns + c + l] = b[k + (c + l) * columnStride];
      c += lanes - 1;
      continue;
    }
    for (; k < depth; ++k)
      panel[k * productColumns + c] = c < columns ? b[k * rowStride + c * columnStride] : 0;
  }
}

} // namespace

/// Columns [0, columns) of `rows` rows of halves in f32, densely.
static void widenBlock(dtcc_dtype type, const uint16_t *from, int64_t rowStride, int64_t columnStride, int64_t rows,
                       int64_t columns, float *to) {
  for (int64_t r = 0; r < rows; ++r)
    if (columnStride == 1)
      widen(type, from + r * rowStride, columns, to + r * columns);
    else
      for (int64_t c = 0; c < columns; ++c)
        widen(type, from + r * rowStride + c * columnStride, 1, to + r * columns + c);
}

static void storeBlock(const ProductProblem &p, int64_t g, int64_t row, int64_t rows, int64_t column, int64_t columns,
                       const float *sums) {
  const int64_t at = g * p.outStrides[0] + row * p.outStrides[1] + column * p.outStrides[2];
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      int64_t offset = at + r * p.outStrides[1] + c * p.outStrides[2];
      float sum = sums[r * productColumns + c], old = 0;
      if (p.bias)
        sum += p.bias[(column + c) * p.biasStride];
      if (p.outType == DTCC_F32) {
        float *to = static_cast<float *>(p.out) + offset;
        *to = p.accumulate ? *to + sum : sum;
        continue;
      }
      uint16_t *to = static_cast<uint16_t *>(p.out) + offset;
      if (p.accumulate)
        widen(p.outType, to, 1, &old);
      sum += old;
      narrow(p.outType, &sum, 1, to);
    }
}

void productBlock(const ProductProblem &p, int64_t g, int64_t row, int64_t rows, int64_t column, float *scratch) {
  int64_t columns = least(productColumns, p.n - column);
  int64_t vectors = (columns + lanes - 1) / lanes;
  const int64_t left = g * p.lhsStrides[0] + row * p.lhsStrides[1];
  const int64_t right = g * p.rhsStrides[0] + column * p.rhsStrides[2];
  float *panel = scratch, *sums = scratch + productDepth * productColumns;
  float *block = sums + productRows * productColumns; // halves alone
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < productColumns; ++c)
      sums[r * productColumns + c] = 0;
  for (int64_t k = 0; k < p.k; k += productDepth) {
    int64_t depth = least(productDepth, p.k - k);
    if (p.type == DTCC_F32) {
      packPanel(static_cast<const float *>(p.rhs) + right + k * p.rhsStrides[1], p.rhsStrides[1], p.rhsStrides[2],
                depth, columns, panel);
      product<true>(rows, vectors, depth, static_cast<const float *>(p.lhs) + left + k * p.lhsStrides[2],
                    p.lhsStrides[1], p.lhsStrides[2], panel, productColumns, sums, productColumns);
      continue;
    }
    // The block's memory holds the right part until it is packed, then the left.
    const uint16_t *lhs = static_cast<const uint16_t *>(p.lhs), *rhs = static_cast<const uint16_t *>(p.rhs);
    if (p.rhsStrides[2] == 1 || p.rhsStrides[1] != 1) {
      widenBlock(p.type, rhs + right + k * p.rhsStrides[1], p.rhsStrides[1], p.rhsStrides[2], depth, columns, block);
      packPanel(block, columns, 1, depth, columns, panel);
    } else {
      widenBlock(p.type, rhs + right + k * p.rhsStrides[1], p.rhsStrides[2], p.rhsStrides[1], columns, depth, block);
      packPanel(block, 1, depth, depth, columns, panel);
    }
    bool byRows = p.lhsStrides[2] == 1 || p.lhsStrides[1] != 1;
    if (byRows)
      widenBlock(p.type, lhs + left + k * p.lhsStrides[2], p.lhsStrides[1], p.lhsStrides[2], rows, depth, block);
    else
      widenBlock(p.type, lhs + left + k * p.lhsStrides[2], p.lhsStrides[2], p.lhsStrides[1], depth, rows, block);
    product<true>(rows, vectors, depth, block, byRows ? depth : 1, byRows ? 1 : rows, panel, productColumns, sums,
                  productColumns);
  }
  storeBlock(p, g, row, rows, column, columns, sums);
}

} // namespace dtcc::rt::DTCC_SIMD_LEVEL
