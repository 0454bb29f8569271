//===- OrthogonalizeWorkspace.h - Memory of `orthogonalize` -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler plans the memory, and the library op lays it out: both sides ask here.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_ORTHOGONALIZEWORKSPACE_H
#define DTCC_RUNTIME_ABI_ORTHOGONALIZEWORKSPACE_H

#include <algorithm>
#include <cstdint>

namespace dtcc {

/// Where the parts of one matrix's memory begin, in bytes: itself and a product in f32; X, A = XX^T and the polynomial
/// of A in bf16. X is the matrix, or its transpose if that has fewer rows.
struct OrthogonalizeLayout {
  OrthogonalizeLayout(int64_t rows, int64_t columns) {
    const int64_t cells = rows * columns, side = std::min(rows, columns);
    auto take = [&](int64_t size) {
      const int64_t at = bytes;
      bytes += (size + 63) / 64 * 64;
      return at;
    };
    matrix = take(4 * cells), sums = take(4 * cells), x = take(2 * cells);
    gram = take(2 * side * side), polynomial = take(2 * side * side);
  }

  int64_t matrix = 0, sums = 0, x = 0, gram = 0, polynomial = 0;
  int64_t bytes = 0; // of all
};

/// Bytes for one matrix.
inline int64_t orthogonalizeWorkspace(int64_t rows, int64_t columns) {
  return OrthogonalizeLayout(rows, columns).bytes;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_ORTHOGONALIZEWORKSPACE_H
