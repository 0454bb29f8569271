//===- Embedding.h - Lookup of table rows and its gradient -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_KERNELS_EMBEDDING_H
#define DTCC_RUNTIME_KERNELS_EMBEDDING_H

#include "runtime/core/ThreadTeam.h"
#include "runtime/kernels/Integers.h"
#include "runtime/kernels/vector/VectorKernels.h"

namespace dtcc::rt {

/// A strided matrix of f32; strides in elements.
template <typename T> struct Matrix {
  T *data = nullptr;
  int64_t rows = 0, columns = 0, rowStride = 0, columnStride = 1;
  T *row(int64_t i) const { return data + i * rowStride; }
};

/// out[i, c] = table[ids[i] - offset, c], or 0 where the id is not one of the
/// table's rows.
void embedding(ThreadTeam &team, const Matrix<const float> &table, const Integers &ids, int64_t offset,
               const Matrix<float> &out);
/// Lookup in a table of halves, which are copied as they are (0 has no bits set).
void embedding(ThreadTeam &team, const Matrix<const uint16_t> &table, const Integers &ids, int64_t offset,
               const Matrix<uint16_t> &out);

/// dtable[ids[i] - offset, c] += dout[i, c] in the order of i, over zeros unless
/// `accumulate`. Ids outside the table and `paddingId` (if not negative) add nothing.
/// The result has equal bits for any number of threads.
void scatterAdd(ThreadTeam &team, const VectorKernels &kernels, const Matrix<const float> &dout, const Integers &ids,
                int64_t offset, bool accumulate, int64_t paddingId, const Matrix<float> &dtable);
/// Sums of rows in bf16 or f16.
void scatterAdd(ThreadTeam &team, const VectorKernels &kernels, dtcc_dtype half, const Matrix<const uint16_t> &dout,
                const Integers &ids, int64_t offset, bool accumulate, int64_t paddingId, const Matrix<float> &dtable);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_EMBEDDING_H
