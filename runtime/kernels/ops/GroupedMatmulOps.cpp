//===- GroupedMatmulOps.cpp - The library ops of grouped products -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/ops/GroupedOperands.h"
#include "runtime/kernels/ops/LibraryOps.h"

namespace dtcc::rt {

GroupedOperands::GroupedOperands(const CheckedOperands &operands, bool gradient) {
  operands.expect(4, gradient ? 2 : 1);
  const dtcc_view &lhs = operands.floats(0, "lhs", {-1, -1});
  p.type = static_cast<dtcc_dtype>(lhs.dtype);
  // The second operand is the stack of a product and rows of its gradient; the result is the other.
  const dtcc_view &second = gradient ? operands.tensor(1, "rhs", {-1, -1}, p.type)
                                     : operands.tensor(1, "rhs", {-1, lhs.sizes[1], -1}, p.type);
  const dtcc_view &out = gradient ? operands.floats(3, "out", {-1, lhs.sizes[1], second.sizes[1]})
                                  : operands.floats(3, "out", {-1, second.sizes[2]});
  p.outType = static_cast<dtcc_dtype>(out.dtype);
  if (p.outType != p.type && p.outType != DTCC_F32)
    operands.reject("out must have the operands' element type or f32, got: ", int{out.dtype});
  const dtcc_view &stack = gradient ? out : second, &side = gradient ? second : out;
  p.rows = operands.integers(2, "ids", -1).sizes[0];
  p.groups = stack.sizes[0], p.k = stack.sizes[1], p.n = stack.sizes[2];
  p.lhs = rowsOf(operands, lhs, "lhs");
  p.side = rowsOf(operands, side, gradient ? "rhs" : "out");
  for (int d = 0; d < 3; ++d)
    p.stackStrides[d] = strideOf(stack, d);
  communicator = operands.communicator(0);
  if (gradient)
    accumulate = operands.accumulation(1);
}

void GroupedOperands::expectWorkspace(const CheckedOperands &operands, bool gradient) const {
  if (operands.operandCount() != 5)
    operands.reject("must have a workspace");
  const dtcc_view &workspace = operands.operand(4);
  int64_t bytes = dtcc_dtype_size(workspace.dtype);
  for (int d = 0; d < workspace.rank; ++d)
    bytes *= workspace.sizes[d];
  const int64_t needed =
      grouped_workspace::bytes(p.rows, p.groups, p.leftRow(), gradient ? p.rightRow() : p.productRow());
  if (bytes < needed)
    operands.reject("the workspace must have ", needed, " bytes, got: ", bytes);
}

GroupedRows GroupedOperands::rowsOf(const CheckedOperands &operands, const dtcc_view &view, const char *name) const {
  if (view.sizes[0] < 1 || p.rows % view.sizes[0] != 0)
    operands.reject(name, " must have a number of rows that divides ", p.rows, ", got: ", view.sizes[0]);
  return {std::max<int64_t>(p.rows / view.sizes[0], 1), strideOf(view, 0), view.sizes[1] == 1 ? 1 : view.strides[1]};
}

namespace {

class GroupedOp final : public LibraryOp {
public:
  GroupedOp(const CheckedOperands &operands, Rank &rank, bool gradient)
      : kernels(vectorKernels()), grouped(operands, gradient), gradient(gradient),
        blocks(grouped.p, gradient, kernels, rank.scratch) {
    grouped.expectWorkspace(operands, gradient);
    const dtcc_view &view = operands.operand(2);
    ids.ids = {nullptr, view.sizes[0], strideOf(view, 0), view.dtype == DTCC_I64};
  }
  void run(Rank &rank, void *const *buffers) override {
    GroupedIds here = ids;
    here.ids.data = buffers[2];
    here.offset = rank.groupIndex(grouped.communicator) * grouped.p.groups;
    here.workspace = static_cast<std::byte *>(buffers[4]);
    if (gradient)
      groupedMatmulGrad(rank.team, kernels, rank.scratch, grouped.p, blocks, buffers[0], buffers[1], here,
                        accumulates(grouped.accumulate, rank), buffers[3]);
    else
      groupedMatmul(rank.team, kernels, rank.scratch, grouped.p, blocks, buffers[0], buffers[1], here, buffers[3]);
  }

private:
  const VectorKernels &kernels;
  GroupedOperands grouped;
  GroupedIds ids;
  bool gradient;
  GroupedBlocks blocks;
};

} // namespace

DTCC_CPU_OP(GROUPED_MATMUL, GroupedOp, /*gradient=*/false)
DTCC_CPU_OP(GROUPED_MATMUL_GRAD, GroupedOp, /*gradient=*/true)

} // namespace dtcc::rt
