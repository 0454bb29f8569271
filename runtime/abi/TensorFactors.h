//===- TensorFactors.h - Rows and columns of a tensor -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adafactor keeps a number for each row and for each column of a tensor. The factors of a bucket stand in the order of
// its tensors, the rows of a tensor before its columns, without gaps: the compiler plans them and the runtime finds
// them so.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_TENSORFACTORS_H
#define DTCC_RUNTIME_ABI_TENSORFACTORS_H

#include <cstdint>

namespace dtcc {

/// The factors of a tensor, a stack of matrices over its last two dimensions. Row `i / rowLength` has cell i. A tensor
/// of less than two dimensions has a row for each cell, and no columns.
struct TensorFactors {
  int64_t rows = 1, columns = 0;           /* of all matrices */
  int64_t rowLength = 1, columnLength = 1; /* in cells */

  int64_t cells() const { return rows * rowLength; }
  /// The first column of the matrix that has this row.
  int64_t firstColumnOf(int64_t row) const { return row / columnLength * rowLength; }
};

inline TensorFactors tensorFactors(const int64_t *sizes, int64_t rank) {
  TensorFactors factors;
  for (int64_t i = 0; i < rank; ++i)
    factors.rows *= i == rank - 1 && rank > 1 ? 1 : sizes[i];
  if (rank < 2)
    return factors;
  factors.rowLength = sizes[rank - 1], factors.columnLength = sizes[rank - 2];
  factors.columns = factors.rows / factors.columnLength * factors.rowLength;
  return factors;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_TENSORFACTORS_H
