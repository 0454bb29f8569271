//===- ExpandIntegers.cpp - Sums, extremes and running sums of integers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/local/ExpandIntegers.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;

namespace dtcc::exec {
namespace {

/// Cells [begin, end) along one dimension.
Value cellsBetween(const graph::Build &b, Value x, int64_t dim, int64_t begin, int64_t end) {
  SmallVector<int64_t> shape(graph::shapeOf(x)), offsets(shape.size(), 0), steps(shape.size(), 1);
  if (begin == 0 && end == shape[dim])
    return x;
  offsets[dim] = begin, shape[dim] = end - begin;
  return graph::SliceOp::create(b.builder, b.loc, graph::withShape(x.getType(), shape), x, offsets, steps);
}

Value combine(const graph::Build &b, Reduction kind, Value x, Value y) {
  switch (kind) {
  case Reduction::Sum:
    return graph::AddOp::create(b.builder, b.loc, x, y);
  case Reduction::Max:
    return graph::MaxOp::create(b.builder, b.loc, x, y);
  case Reduction::Min:
    return graph::MinOp::create(b.builder, b.loc, x, y);
  }
  llvm_unreachable("all kinds of reduction are listed");
}

/// One half is combined with the other until one cell is left; an odd one waits.
struct ExpandIntegerReduce : OpRewritePattern<graph::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ReduceOp op, PatternRewriter &rewriter) const override {
    Value x = op.getX();
    if (graph::isFloat(x) || graph::product(graph::shapeOf(x)) == 0)
      return failure();
    graph::Build b(rewriter, op.getLoc());
    for (int64_t dim : op.getDims()) {
      Value odd;
      while (int64_t half = graph::shapeOf(x)[dim] / 2) {
        if (graph::shapeOf(x)[dim] % 2) {
          Value last = cellsBetween(b, x, dim, 2 * half, 2 * half + 1);
          odd = odd ? combine(b, op.getKind(), odd, last) : last;
        }
        x = combine(b, op.getKind(), cellsBetween(b, x, dim, 0, half), cellsBetween(b, x, dim, half, 2 * half));
      }
      x = odd ? combine(b, op.getKind(), x, odd) : x;
    }
    rewriter.replaceOp(op, b.reshape(x, graph::shapeOf(op.getY())));
    return success();
  }
};

/// Computes a running sum in log2(n) steps, which add the cells at distance 1, 2, 4, .. (Hillis and Steele 1986).
struct ExpandCumsum : OpRewritePattern<graph::CumsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::CumsumOp op, PatternRewriter &rewriter) const override {
    graph::Build b(rewriter, op.getLoc());
    Value x = op.getX();
    int64_t dim = op.getDim(), size = graph::shapeOf(x)[dim];
    for (int64_t step = 1; step < size; step *= 2) {
      Value sums =
          combine(b, Reduction::Sum, cellsBetween(b, x, dim, step, size), cellsBetween(b, x, dim, 0, size - step));
      x = graph::ConcatOp::create(rewriter, op.getLoc(), x.getType(),
                                  ValueRange{cellsBetween(b, x, dim, 0, step), sums}, dim);
    }
    rewriter.replaceOp(op, x);
    return success();
  }
};

} // namespace

void addIntegerPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandIntegerReduce, ExpandCumsum>(patterns.getContext());
}

} // namespace dtcc::exec
