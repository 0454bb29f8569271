//===- GroupedMatmul.h - Rows that pick a matrix of a stack -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of a mixture of experts. Rows are counted and sorted by their id, copied
// side by side, and each matrix of the stack meets its own rows in one product: work is
// that of the rows, not of rows times matrices, and no row is ever dropped, because the
// sorted rows need no more places than there are rows. (Gale et al., "MegaBlocks:
// Efficient Sparse Training with Mixture-of-Experts", 2022, call this dropless.)
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_GROUPEDMATMUL_H
#define DTCC_RUNTIME_KERNELS_GROUPEDMATMUL_H

#include "runtime/core/TeamScratch.h"
#include "runtime/kernels/Embedding.h"

#include <cstddef>

namespace dtcc::rt {

/// A stack of matrices; strides in elements.
template <typename T> struct MatrixStack {
  T *data = nullptr;
  int64_t count = 0, rows = 0, columns = 0, stride = 0, rowStride = 0, columnStride = 1;
};

/// Memory for the sorted rows.
struct GroupedWorkspace {
  std::byte *memory = nullptr;
  /// Bytes for `rows` ids, `groups` matrices and rows of `left` and `right` floats.
  static int64_t bytes(int64_t rows, int64_t groups, int64_t left, int64_t right);
};

/// out[i] = sum over the rows r = i * (R / out.rows) .. of lhs[r / (R / lhs.rows)] *
/// rhs[ids[r] - offset]; rows whose id is outside of the stack add nothing.
/// `scratch` holds productScratch floats a thread. The same bits for any number of threads.
void groupedMatmul(ThreadTeam &team, const VectorKernels &kernels, const TeamScratch &scratch,
                   const Matrix<const float> &lhs, const MatrixStack<const float> &rhs, const Integers &ids,
                   int64_t offset, const Matrix<float> &out, const GroupedWorkspace &workspace);

/// out[e] (+)= sum over the rows r whose id is e + offset of the outer product of
/// lhs[r / (R / lhs.rows)] and rhs[r / (R / rhs.rows)]; over zeros unless `accumulate`.
void groupedMatmulGrad(ThreadTeam &team, const VectorKernels &kernels, const TeamScratch &scratch,
                       const Matrix<const float> &lhs, const Matrix<const float> &rhs, const Integers &ids,
                       int64_t offset, bool accumulate, const MatrixStack<float> &out,
                       const GroupedWorkspace &workspace);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_GROUPEDMATMUL_H
