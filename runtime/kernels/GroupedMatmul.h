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

#include "runtime/abi/GroupedWorkspace.h"
#include "runtime/kernels/Integers.h"
#include "runtime/kernels/Matmul.h"

#include <cstddef>

namespace dtcc::rt {

/// Rows of a matrix, each of which stands for `repeat` ids, one after the other; strides in elements.
struct GroupedRows {
  int64_t repeat = 1, rowStride = 0, columnStride = 1;
};

/// A grouped product without its addresses.
struct GroupedProblem {
  dtcc_dtype type = DTCC_F32, outType = DTCC_F32; // of the operands; of the result: that, or f32
  int64_t rows = 0, groups = 0, k = 0, n = 0;     // rows: ids; k and n of a matrix
  GroupedRows lhs, side;                          // of k cells; of n: the result, or rhs of the gradient
  int64_t stackStrides[3] = {0, 0, 0};            // of matrices, their rows and columns

  /// Bytes of packed rows of lhs, and of what stands beside them.
  int64_t leftRow() const { return k * dtcc_dtype_size(type); }
  int64_t productRow() const { return grouped_workspace::productRow(n, dtcc_dtype_size(outType), side.repeat); }
  int64_t rightRow() const { return n * dtcc_dtype_size(type); }
};

/// The ids, which count from `offset`, and memory for the sorted rows.
struct GroupedIds {
  Integers ids;
  int64_t offset = 0;
  std::byte *workspace = nullptr;
};

/// The library's products of halves, for so many rows of a matrix at a time: how many there are is known only when they
/// come, and a library plans for sizes. What is left of a matrix' rows is ours.
class GroupedBlocks {
public:
  /// Plans for `problem`, of whose gradient the result is `accumulate`d to, never or sometimes; reserves what both this
  /// and our own product need of `scratch`. To be called by the thread that runs it.
  GroupedBlocks(const GroupedProblem &problem, bool gradient, const VectorKernels &kernels, TeamScratch &scratch);

  /// Rows of a block; 0 where our own product does all.
  int64_t rows() const { return blockRows; }
  void run(ThreadTeam &team, const TeamScratch &scratch, const ProductProblem &block) const;

private:
  int64_t blockRows = 0;
  std::unique_ptr<Matmul> products[2]; // one that adds: of gradients
};

/// out[i] = sum over the rows r = i * side.repeat .. of lhs[r / lhs.repeat] * rhs[ids[r] - offset]; rows whose id is
/// outside of the stack add nothing. Sums are taken in f32 and rounded once. The workspace holds
/// grouped_workspace::bytes(.., leftRow(), productRow()). The same bits for any number of threads, without a library.
void groupedMatmul(ThreadTeam &team, const VectorKernels &kernels, const TeamScratch &scratch,
                   const GroupedProblem &problem, const GroupedBlocks &blocks, const void *lhs, const void *rhs,
                   const GroupedIds &ids, void *out);

/// out[e] (+)= sum over the rows r whose id is e + offset of the outer product of lhs[r / lhs.repeat] and
/// rhs[r / side.repeat]; over zeros unless `accumulate`. Workspace: leftRow(), rightRow().
void groupedMatmulGrad(ThreadTeam &team, const VectorKernels &kernels, const TeamScratch &scratch,
                       const GroupedProblem &problem, const GroupedBlocks &blocks, const void *lhs, const void *rhs,
                       const GroupedIds &ids, bool accumulate, void *out);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_KERNELS_GROUPEDMATMUL_H
