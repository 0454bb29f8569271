//===- GroupedProductOps.cpp - Products of rows that pick a matrix as launches
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/product/GroupedProduct.h"
#include "runtime/cuda/kernels/product/HalfTile.h"
#include "runtime/cuda/ops/Operands.h"
#include "runtime/cuda/ops/rows/SortedRows.h"
#include "runtime/kernels/ops/GroupedOperands.h"

namespace dtcc::rt::cuda {
namespace {

/// A product by groups in either direction. It sorts rows by their id first.
class GroupedOp final : public CudaOp {
public:
  GroupedOp(const CheckedOperands &operands, Rank &rank, Launcher &launcher, bool gradient)
      : grouped(operands, gradient), ids(operands, 2, "ids", -1), gradient(gradient), half(grouped.p.type != DTCC_F32),
        bounds(launcher, "Sort", "sort_bounds") {
    const GroupedProblem &from = grouped.p;
    p.rows = from.rows, p.groups = from.groups, p.k = from.k, p.n = from.n, p.outType = from.outType;
    p.lhs = rowsOf(from.lhs), p.side = rowsOf(from.side);
    std::copy(std::begin(from.stackStrides), std::end(from.stackStrides), p.matrixStrides);
    const size_t stack = gradient ? 3 : 1, side = gradient ? 1 : 3;
    p.lhs.units = inUnits(operands, rank, 0, 1, 8);
    if (gradient)
      p.side.units = inUnits(operands, rank, side, 1, 8);
    const bool alongN = !gradient && inUnits(operands, rank, stack, 2, 8);
    p.matrixUnits = alongN || (!gradient && inUnits(operands, rank, stack, 1, 8));
    constexpr int64_t reach = int64_t{1} << 31; // of strides that the kernel holds in 32 bits
    isWide = half && p.n > halfTile && p.lhs.units && (gradient ? p.side.units : p.matrixUnits) &&
             p.lhs.rowStride < reach && p.side.rowStride < reach;
    p.pairs = inUnits(operands, rank, 3, gradient ? 2 : 1, 2);
    WorkspaceLayout layout;
    sorted = std::make_unique<SortedRows>(operands, p.rows, p.groups, launcher, layout);
    const auto bytes = [](int64_t count) { return count * int64_t{4}; };
    begin = layout.take(bytes(p.groups + 1));
    const auto kernel = [&](const char *name, const char *form) {
      if (!half)
        return Kernel(launcher, "GroupedProduct", name);
      const std::string whole = std::string(name) + (isWide ? "_wide" : "") + form + "_" + typeName(from.type);
      return Kernel(launcher, "GroupedMma", whole.c_str(), isWide ? wideSharedBytes : 0);
    };
    if (gradient) {
      product = kernel("grouped_product_grad", "");
    } else {
      places = layout.take(bytes(p.rows));
      products = layout.take(p.side.repeat.value == 1 ? 0 : bytes(p.rows * p.n));
      product = kernel("grouped_product", alongN ? "_n" : "_k");
      number = Kernel(launcher, "GroupedProduct", "grouped_places");
      combine = Kernel(launcher, "GroupedProduct", "grouped_combine");
    }
    launcher.reserveWorkspace(layout.bytes());
  }

  void run(Rank &rank, const Call &call) override {
    GroupedProduct here = p;
    here.lhs.data = call.buffers[0];
    here.side.data = call.buffers[gradient ? 1 : 3];
    here.matrices = call.buffers[gradient ? 3 : 1];
    const int64_t offset = rank.groupIndex(grouped.communicator) * p.groups;
    sorted->sort(call, ids.at(call), offset, /*paddingId=*/-1);
    here.order = sorted->order(call), here.begin = at<int32_t>(call, begin);
    bounds(call, partsOf(p.rows + 1, sortDigits), sortDigits,
           SortBounds{ids.at(call), p.rows, offset, p.groups, /*paddingId=*/-1, here.order, at<int32_t>(call, begin)});
    const int64_t rows = isWide ? wideRows : half ? halfTile : productTile;
    const int64_t columns = isWide ? wideColumns : half ? halfTile : productTile;
    LaunchShape shape;
    shape.block[0] = isWide ? wideThreads : half ? halfThreads : productThreads;
    shape.sharedBytes = isWide ? wideSharedBytes : 0;
    if (gradient) {
      here.accumulate = accumulates(grouped.accumulate, rank);
      shape.grid[0] = static_cast<unsigned>(partsOf(p.k, rows) * partsOf(p.n, columns));
      shape.grid[2] = static_cast<unsigned>(std::min<int64_t>(p.groups, 65535));
      return product(call, shape, here);
    }
    here.places = at<int32_t>(call, places), here.products = at<float>(call, products);
    number(call, partsOf(p.rows, combineThreads), combineThreads, here);
    shape.grid[0] = static_cast<unsigned>(p.rows / rows + p.groups);
    shape.grid[1] = static_cast<unsigned>(partsOf(p.n, columns));
    product(call, shape, here);
    combine(call, p.rows / p.side.repeat.value, combineThreads, here);
  }

private:
  static RepeatedRows rowsOf(const GroupedRows &rows) {
    return {nullptr, rows.rowStride, rows.columnStride, Division::by(static_cast<int32_t>(rows.repeat)), 0};
  }
  /// Whether `cells` neighbours along `dimension` of an operand, from a multiple of `cells` on, lie side by side at a
  /// multiple of their size. All of them or none need be there, but for pairs.
  bool inUnits(const CheckedOperands &operands, const Rank &rank, size_t operand, int dimension, int64_t cells) const {
    const dtcc_view &view = operands.operand(operand);
    const int64_t bytes = cells * dtcc_dtype_size(view.dtype);
    if (view.strides[dimension] != 1 || (cells > 2 && view.sizes[dimension] % cells != 0) ||
        rank.offset(operands.viewIndex(operand)) % bytes != 0 || view.slot_stride % bytes != 0)
      return false;
    for (int d = 0; d < view.rank; ++d)
      if (d != dimension && strideOf(view, d) % cells != 0)
        return false;
    return true;
  }

  GroupedOperands grouped;
  GroupedProduct p = {};
  IntegerOperand ids;
  bool gradient, half, isWide = false;
  std::unique_ptr<SortedRows> sorted;
  uint64_t begin = 0, places = 0, products = 0; // in the workspace
  Kernel bounds, product, number, combine;
};

} // namespace

DTCC_CUDA_OP(GROUPED_MATMUL, GroupedOp, /*gradient=*/false)
DTCC_CUDA_OP(GROUPED_MATMUL_GRAD, GroupedOp, /*gradient=*/true)

} // namespace dtcc::rt::cuda
