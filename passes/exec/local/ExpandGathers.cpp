//===- ExpandGathers.cpp - A gather as an embedding
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/local/ExpandGathers.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;

namespace dtcc::exec {
namespace {

/// The permutation that brings the indexed dimension to the front.
SmallVector<int64_t> indexedFirst(graph::GatherOp op) {
  SmallVector<int64_t> rows{int64_t(op.getAxis())};
  for (int64_t dim = 0, rank = graph::rankOf(op.getX()); dim < rank; ++dim)
    if (dim != int64_t(op.getAxis()))
      rows.push_back(dim);
  return rows;
}

/// The type of the rows that the indices of `op` pick from `table`.
Type rowsType(graph::GatherOp op, Value table) {
  SmallVector<int64_t> shape(graph::shapeOf(op.getIndices()));
  llvm::append_range(shape, graph::shapeOf(table).drop_front());
  return graph::withShape(table.getType(), shape);
}

/// [indices.., before.., after..] becomes [before.., indices.., after..].
Value indexedWithin(const graph::Build &b, graph::GatherOp op, Value picked) {
  int64_t axis = op.getAxis(), rank = graph::rankOf(op.getX()), count = graph::rankOf(op.getIndices());
  SmallVector<int64_t> back;
  for (int64_t dim = 0; dim < rank - 1 + count; ++dim)
    back.push_back(dim < axis ? count + dim : dim < axis + count ? dim - axis : dim);
  return b.transpose(picked, back);
}

struct ExpandGather : OpRewritePattern<graph::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::GatherOp op, PatternRewriter &rewriter) const override {
    if (!graph::isFloat(op.getX()))
      return failure();
    graph::Build b(rewriter, op.getLoc());
    Value table = b.transpose(op.getX(), indexedFirst(op));
    Value picked = graph::EmbeddingOp::create(rewriter, op.getLoc(), rowsType(op, table), table, op.getIndices(),
                                              rewriter.getI64IntegerAttr(-1), ArrayAttr());
    rewriter.replaceOp(op, indexedWithin(b, op, picked));
    return success();
  }
};

/// Integers of 4 bytes at least, along the first dimension, are moved as rows of a table too
/// (bufferize/LibraryRules.cpp).
struct ExpandIntegerGather : OpRewritePattern<graph::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::GatherOp op, PatternRewriter &rewriter) const override {
    Type element = graph::elementOf(op.getX());
    bool isNarrow = element.getIntOrFloatBitWidth() < 32;
    if (graph::isFloat(op.getX()) || (op.getAxis() == 0 && !isNarrow))
      return failure();
    graph::Build b(rewriter, op.getLoc());
    Value wide = isNarrow ? b.cast(op.getX(), rewriter.getI32Type()) : op.getX();
    Value table = b.transpose(wide, indexedFirst(op));
    Value picked =
        graph::GatherOp::create(rewriter, op.getLoc(), rowsType(op, table), table, op.getIndices(), /*axis=*/0);
    rewriter.replaceOp(op, b.cast(indexedWithin(b, op, picked), element));
    return success();
  }
};

} // namespace

void addGatherPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandGather, ExpandIntegerGather>(patterns.getContext());
}

} // namespace dtcc::exec
