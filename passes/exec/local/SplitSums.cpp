//===- SplitSums.cpp - Sum the rows of few columns in two steps
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"
#include "passes/exec/Passes.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_SPLITSUMS
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;
using namespace dtcc;

namespace {

/// Columns that keep a GPU busy, and rows that make a sum worth a kernel of its own.
constexpr int64_t kBusyColumns = 1 << 13, kLeastRows = 8;
/// Cells of a sum that takes longer than the start of another kernel.
constexpr int64_t kLeastCells = 1 << 16;

/// How many of the outer dimensions of `op` are summed in a second step; 0: it stays as it is.
int64_t outerDims(graph::ReduceOp op) {
  ArrayRef<int64_t> shape = graph::shapeOf(op.getX()), dims = op.getDims();
  // Rows whose cells are adjacent have a block each already.
  if (dims.size() < 2 || dims.back() + 1 == int64_t(shape.size()))
    return 0;
  int64_t columns = 1, rows = 1, outer = 0;
  for (auto [at, size] : llvm::enumerate(shape))
    (llvm::is_contained(dims, int64_t(at)) ? rows : columns) *= size;
  const int64_t before = columns;
  if (columns * rows < kLeastCells)
    return 0;
  while (outer + 1 < int64_t(dims.size()) && columns < kBusyColumns && rows / shape[dims[outer]] >= kLeastRows) {
    columns *= shape[dims[outer]], rows /= shape[dims[outer]];
    ++outer;
  }
  return columns > before ? outer : 0;
}

/// Makes the reduction of `x` over `dims` of `op`'s kind, whose result has the type `element`.
graph::ReduceOp reduce(OpBuilder &builder, graph::ReduceOp op, Value x, ArrayRef<int64_t> dims, Type element) {
  SmallVector<int64_t> shape;
  for (auto [at, size] : llvm::enumerate(graph::shapeOf(x)))
    if (!llvm::is_contained(dims, int64_t(at)))
      shape.push_back(size);
  auto made =
      graph::ReduceOp::create(builder, op.getLoc(), RankedTensorType::get(shape, element), op.getKind(), x, dims);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return made;
}

/// Returns the only reader of `op` if it sums the result further, as over the channels of a group; else null.
graph::ReduceOp sumOf(graph::ReduceOp op) {
  auto next = op->hasOneUse() ? dyn_cast<graph::ReduceOp>(*op->user_begin()) : graph::ReduceOp();
  bool isAlike = next && next.getKind() == op.getKind() && !graph::isHalf(op.getY()) &&
                 next.getType().getElementType() == op.getType().getElementType();
  return isAlike ? next : graph::ReduceOp();
}

/// Sums the inner dimensions of `op` and then the outer ones, together with those of `next` if there is one, and
/// erases them.
void split(graph::ReduceOp op, int64_t outer, graph::ReduceOp next) {
  OpBuilder builder(op);
  ArrayRef<int64_t> dims = op.getDims(), inner = dims.drop_front(outer);
  // A sum of halves is rounded once.
  const bool isRounded = graph::isHalf(op.getY()) && op.getKind() == Reduction::Sum;
  Type element = isRounded ? builder.getF32Type() : op.getType().getElementType();
  graph::ReduceOp rest = reduce(builder, op, op.getX(), inner, element);
  SmallVector<int64_t> left, second;
  for (int64_t dim = 0; dim < graph::rankOf(op.getX()); ++dim)
    if (!llvm::is_contained(dims, dim))
      left.push_back(dim);
  auto behind = [&](int64_t dim) { return dim - llvm::count_if(inner, [&](int64_t other) { return other < dim; }); };
  for (int64_t dim : dims.take_front(outer))
    second.push_back(behind(dim));
  if (next)
    for (int64_t dim : next.getDims())
      second.push_back(behind(left[dim]));
  llvm::sort(second);
  Value sum = reduce(builder, op, rest, second, element);
  if (isRounded) {
    auto cast = graph::CastOp::create(builder, op.getLoc(), op.getType(), sum);
    cast->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    sum = cast;
  }
  (next ? next : op).getY().replaceAllUsesWith(sum);
  if (next)
    next.erase();
  op.erase();
}

struct SplitSums : dtcc::exec::impl::SplitSumsBase<SplitSums> {
  void runOnOperation() override {
    SmallVector<graph::ReduceOp> work;
    getOperation()->walk([&](graph::ReduceOp op) { work.push_back(op); });
    llvm::SmallPtrSet<Operation *, 8> erased;
    for (graph::ReduceOp op : work)
      if (int64_t outer = erased.contains(op) ? 0 : outerDims(op)) {
        graph::ReduceOp next = sumOf(op);
        if (next)
          erased.insert(next);
        split(op, outer, next);
      }
  }
};

} // namespace
