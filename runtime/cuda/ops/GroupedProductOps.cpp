//===- GroupedProductOps.cpp - Products of rows that pick a matrix as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/GroupedProduct.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/cuda/ops/SortedRows.h"
#include "runtime/kernels/GroupedMatmul.h"

namespace dtcc::rt::cuda {
namespace {

/// Both ops: rows sorted by their id first. The command's own workspace holds the products of its rows.
class GroupedOp final : public CudaOp {
public:
  GroupedOp(const CheckedOperands &operands, Rank &, Launcher &launcher, bool gradient)
      : gradient(gradient), bounds(launcher, "Sort", "sort_bounds") {
    operands.expect(4, gradient ? 2 : 1);
    if (operands.operandCount() != 5)
      operands.reject("must have a workspace");
    ids = IntegerOperand(operands, 2, "ids", -1);
    const dtcc_view &lhs = operands.tensor(0, "lhs", {-1, -1});
    const size_t stackIndex = gradient ? 3 : 1, rowsIndex = gradient ? 1 : 3;
    const dtcc_view &stack = operands.tensor(stackIndex, gradient ? "out" : "rhs", {-1, lhs.sizes[1], -1});
    const dtcc_view &other = operands.tensor(rowsIndex, gradient ? "rhs" : "out", {-1, stack.sizes[2]});
    p.rows = ids.size(), p.groups = stack.sizes[0], p.k = stack.sizes[1], p.n = stack.sizes[2];
    p.lhs = rowsOf(operands, lhs, "lhs");
    (gradient ? p.rhs : p.out) = rowsOf(operands, other, gradient ? "rhs" : "out");
    for (int d = 0; d < 3; ++d)
      p.matrixStrides[d] = strideOf(stack, d);
    checkWorkspace(operands);
    communicator = operands.communicator(0);
    if (gradient)
      accumulate = operands.accumulation(1);
    WorkspaceLayout layout;
    sorted = std::make_unique<SortedRows>(operands, p.rows, p.groups, launcher, layout);
    const auto bytes = [](int64_t count) { return count * int64_t{4}; };
    begin = layout.take(bytes(p.groups + 1));
    if (gradient) {
      product = Kernel(launcher, "GroupedProduct", "grouped_product_grad");
    } else {
      places = layout.take(bytes(p.rows));
      product = Kernel(launcher, "GroupedProduct", "grouped_product");
      number = Kernel(launcher, "GroupedProduct", "grouped_places");
      combine = Kernel(launcher, "GroupedProduct", "grouped_combine");
    }
    launcher.reserveWorkspace(layout.bytes());
  }

  void run(Rank &rank, const Call &call) override {
    GroupedProduct here = p;
    here.lhs.data = address<float>(call, 0);
    (gradient ? here.rhs : here.out).data = address<float>(call, gradient ? 1 : 3);
    here.matrices = address<float>(call, gradient ? 3 : 1);
    const int64_t offset = rank.groupIndex(communicator) * p.groups;
    sorted->sort(call, ids.at(call), offset, /*paddingId=*/-1);
    here.order = sorted->order(call), here.begin = at<int32_t>(call, begin);
    bounds(call, partsOf(p.rows + 1, sortDigits), sortDigits,
           SortBounds{ids.at(call), p.rows, offset, p.groups, /*paddingId=*/-1, here.order, at<int32_t>(call, begin)});
    LaunchShape shape;
    shape.block[0] = productThreads;
    if (gradient) {
      here.accumulate = accumulates(accumulate, rank);
      shape.grid[0] = static_cast<unsigned>(productTiles(p.k, p.n));
      shape.grid[2] = static_cast<unsigned>(std::min<int64_t>(p.groups, 65535));
      return product(call, shape, here);
    }
    here.places = at<int32_t>(call, places), here.products = address<float>(call, 4);
    number(call, partsOf(p.rows, combineThreads), combineThreads, here);
    shape.grid[0] = static_cast<unsigned>(p.rows / productTile + p.groups);
    shape.grid[1] = static_cast<unsigned>(partsOf(p.n, productTile));
    product(call, shape, here);
    combine(call, p.rows / p.out.repeat, combineThreads, here);
  }

private:
  void checkWorkspace(const CheckedOperands &operands) const {
    const dtcc_view &view = operands.operand(4);
    const int64_t bytes = elementCount(view) * dtcc_dtype_size(view.dtype);
    const int64_t needed = GroupedWorkspace::bytes(p.rows, p.groups, p.k, p.n);
    if (bytes < needed)
      operands.reject("the workspace must have ", needed, " bytes, got: ", bytes);
  }
  RepeatedRows rowsOf(const CheckedOperands &operands, const dtcc_view &view, const char *name) const {
    if (view.sizes[0] < 1 || p.rows % view.sizes[0] != 0)
      operands.reject(name, " must have a number of rows that divides ", p.rows, ", got: ", view.sizes[0]);
    return {nullptr, strideOf(view, 0), view.sizes[1] == 1 ? 1 : view.strides[1],
            static_cast<int32_t>(std::max<int64_t>(p.rows / view.sizes[0], 1))};
  }

  GroupedProduct p = {};
  IntegerOperand ids;
  int64_t communicator;
  bool gradient;
  Accumulation accumulate = Accumulation::Never;
  std::unique_ptr<SortedRows> sorted;
  uint64_t begin = 0, places = 0; // in the workspace
  Kernel bounds, product, number, combine;
};

} // namespace

DTCC_CUDA_OP(GROUPED_MATMUL, GroupedOp, /*gradient=*/false)
DTCC_CUDA_OP(GROUPED_MATMUL_GRAD, GroupedOp, /*gradient=*/true)

} // namespace dtcc::rt::cuda
