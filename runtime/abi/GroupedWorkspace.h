//===- GroupedWorkspace.h - The workspace of grouped products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler plans it and runtimes check it: one formula. See grouped_matmul in
// LibraryOps.def.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_GROUPEDWORKSPACE_H
#define DTCC_RUNTIME_ABI_GROUPEDWORKSPACE_H

#include <cstdint>

namespace dtcc::grouped_workspace {

/// Pieces start at multiples of 64.
constexpr int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Bytes of a row of products of `n` cells: of what is stored, `outBytes` a cell, where each is a row of the result,
/// else floats, which are added up before they are rounded.
constexpr int64_t productRow(int64_t n, int64_t outBytes, int64_t rowsEach) {
  return n * (rowsEach == 1 ? outBytes : 4);
}

/// Bytes for `rows` ids of `groups` matrices: numbers of sorted rows, and each with `left` and `right` bytes of cells
/// (operands of the gradient; else lhs and products).
constexpr int64_t bytes(int64_t rows, int64_t groups, int64_t left, int64_t right) {
  return aligned((2 * rows + groups + 1) * 8) + aligned(rows * left) + aligned(rows * right);
}

} // namespace dtcc::grouped_workspace

#endif // DTCC_RUNTIME_ABI_GROUPEDWORKSPACE_H
