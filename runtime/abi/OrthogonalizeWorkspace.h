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

/// Bytes for one matrix: itself and a product in f32; X, A = XX^T and the polynomial of A in bf16. X is the matrix, or
/// its transpose if that has fewer rows.
inline int64_t orthogonalizeWorkspace(int64_t rows, int64_t columns) {
  int64_t cells = rows * columns, side = std::min(rows, columns);
  auto lines = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  return 2 * lines(4 * cells) + lines(2 * cells) + 2 * lines(2 * side * side);
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_ORTHOGONALIZEWORKSPACE_H
