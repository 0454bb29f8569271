//===- OrthogonalizeWorkspace.h - Memory and work of `orthogonalize` -*- C++ -*-===//
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

enum class OrthogonalizeOn { Processor, Gpu };

/// Where the parts of one matrix's memory begin, in bytes: itself and a product in f32; X, A = XX^T and the polynomial
/// of A, whose numbers are of bf16. X is the matrix, or its transpose if that has fewer rows. On processors it takes
/// the place of the matrix, and every number has room for f32: those without products of bf16 multiply the same numbers
/// in f32.
struct OrthogonalizeLayout {
  OrthogonalizeLayout(int64_t rows, int64_t columns, OrthogonalizeOn device) {
    const int64_t cells = rows * columns, side = std::min(rows, columns);
    const bool onGpu = device == OrthogonalizeOn::Gpu;
    const int64_t number = onGpu ? 2 : 4;
    auto take = [&](int64_t size) {
      const int64_t at = bytes;
      bytes += (size + 63) / 64 * 64;
      return at;
    };
    matrix = take(4 * cells), sums = take(4 * cells), x = onGpu ? take(number * cells) : matrix;
    gram = take(number * side * side), polynomial = take(number * side * side);
  }

  int64_t matrix = 0, sums = 0, x = 0, gram = 0, polynomial = 0;
  int64_t bytes = 0; // of all
};

/// FLOP of the products of one step of Newton and Schulz: 4 s^2 l + 2 s^3 of a matrix with the shorter side s and the
/// longer side l.
inline double orthogonalizeFlops(int64_t rows, int64_t columns) {
  const auto side = static_cast<double>(std::min(rows, columns)), length = static_cast<double>(std::max(rows, columns));
  return 4 * side * side * length + 2 * side * side * side;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_ORTHOGONALIZEWORKSPACE_H
