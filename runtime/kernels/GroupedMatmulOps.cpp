//===- GroupedMatmulOps.cpp - The library ops of grouped products -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/CheckedOperands.h"
#include "runtime/kernels/GroupedMatmul.h"
#include "runtime/kernels/LibraryOps.h"

namespace dtcc::rt {
namespace {

template <typename T> Matrix<T> matrixOf(const dtcc_view &view) {
  return {nullptr, view.sizes[0], view.sizes[1], strideOf(view, 0), view.sizes[1] == 1 ? 1 : view.strides[1]};
}
template <typename T> MatrixStack<T> stackOf(const dtcc_view &view) {
  return {nullptr,           view.sizes[0],     view.sizes[1],    view.sizes[2],
          strideOf(view, 0), strideOf(view, 1), strideOf(view, 2)};
}

/// What both ops share: ids, workspace, and rows that divide.
class GroupedOp : public LibraryOp {
public:
  GroupedOp(const CheckedOperands &operands, Rank &rank, size_t attributes) : kernels(vectorKernels()) {
    operands.expect(4, attributes);
    if (operands.operandCount() != 5)
      operands.reject("must have a workspace");
    const dtcc_view &view = operands.integers(2, "ids", -1);
    ids = {nullptr, view.sizes[0], strideOf(view, 0), view.dtype == DTCC_I64};
    communicator = operands.communicator(0);
    rank.scratch.reserve(productScratch * sizeof(float));
  }

protected:
  void checkRows(const CheckedOperands &operands, const char *name, int64_t rows) const {
    if (rows < 1 || ids.size % rows != 0)
      operands.reject(name, " must have a number of rows that divides ", ids.size, ", got: ", rows);
  }
  void checkWorkspace(const CheckedOperands &operands, int64_t groups, int64_t left, int64_t right) const {
    const dtcc_view &view = operands.operand(4);
    int64_t bytes = dtcc_dtype_size(view.dtype), needed = GroupedWorkspace::bytes(ids.size, groups, left, right);
    for (int d = 0; d < view.rank; ++d)
      bytes *= view.sizes[d];
    if (bytes < needed)
      operands.reject("the workspace must have ", needed, " bytes, got: ", bytes);
  }
  /// The ids and the workspace of this slot.
  void bindBuffers(void *const *buffers) {
    ids.data = buffers[2];
    workspace.memory = static_cast<std::byte *>(buffers[4]);
  }

  const VectorKernels &kernels;
  Integers ids;
  int64_t communicator;
  GroupedWorkspace workspace;
};

class GroupedMatmulOp final : public GroupedOp {
public:
  GroupedMatmulOp(const CheckedOperands &operands, Rank &rank) : GroupedOp(operands, rank, 1) {
    lhs = matrixOf<const float>(operands.tensor(0, "lhs", {-1, -1}));
    rhs = stackOf<const float>(operands.tensor(1, "rhs", {-1, lhs.columns, -1}));
    out = matrixOf<float>(operands.tensor(3, "out", {-1, rhs.columns}));
    checkRows(operands, "lhs", lhs.rows);
    checkRows(operands, "out", out.rows);
    checkWorkspace(operands, rhs.count, lhs.columns, rhs.columns);
  }
  void run(Rank &rank, void *const *buffers) override {
    bindBuffers(buffers);
    lhs.data = static_cast<const float *>(buffers[0]);
    rhs.data = static_cast<const float *>(buffers[1]);
    out.data = static_cast<float *>(buffers[3]);
    groupedMatmul(rank.team, kernels, rank.scratch, lhs, rhs, ids, rank.groupIndex(communicator) * rhs.count, out,
                  workspace);
  }

private:
  Matrix<const float> lhs;
  MatrixStack<const float> rhs;
  Matrix<float> out;
};

class GroupedMatmulGradOp final : public GroupedOp {
public:
  GroupedMatmulGradOp(const CheckedOperands &operands, Rank &rank) : GroupedOp(operands, rank, 2) {
    lhs = matrixOf<const float>(operands.tensor(0, "lhs", {-1, -1}));
    rhs = matrixOf<const float>(operands.tensor(1, "rhs", {-1, -1}));
    out = stackOf<float>(operands.tensor(3, "out", {-1, lhs.columns, rhs.columns}));
    checkRows(operands, "lhs", lhs.rows);
    checkRows(operands, "rhs", rhs.rows);
    checkWorkspace(operands, out.count, lhs.columns, rhs.columns);
    accumulate = operands.accumulation(1);
  }
  void run(Rank &rank, void *const *buffers) override {
    bindBuffers(buffers);
    lhs.data = static_cast<const float *>(buffers[0]);
    rhs.data = static_cast<const float *>(buffers[1]);
    out.data = static_cast<float *>(buffers[3]);
    groupedMatmulGrad(rank.team, kernels, rank.scratch, lhs, rhs, ids, rank.groupIndex(communicator) * out.count,
                      accumulates(accumulate, rank), out, workspace);
  }

private:
  Matrix<const float> lhs, rhs;
  MatrixStack<float> out;
  Accumulation accumulate;
};

} // namespace

template <> std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_GROUPED_MATMUL>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<GroupedMatmulOp>(CheckedOperands(command, rank), rank);
}

template <>
std::unique_ptr<LibraryOp> bindLibraryOp<DTCC_LIB_GROUPED_MATMUL_GRAD>(const dtcc_command &command, Rank &rank) {
  return std::make_unique<GroupedMatmulGradOp>(CheckedOperands(command, rank), rank);
}

} // namespace dtcc::rt
