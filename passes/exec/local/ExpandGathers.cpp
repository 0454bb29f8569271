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

struct ExpandGather : OpRewritePattern<graph::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::GatherOp op, PatternRewriter &rewriter) const override {
    if (!graph::isFloat(op.getX()))
      return failure();
    graph::Build b(rewriter, op.getLoc());
    int64_t axis = op.getAxis(), rank = graph::rankOf(op.getX()), count = graph::rankOf(op.getIndices());
    SmallVector<int64_t> rows{axis}, back;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim != axis)
        rows.push_back(dim);
    Value table = b.transpose(op.getX(), rows);
    SmallVector<int64_t> shape(graph::shapeOf(op.getIndices()));
    llvm::append_range(shape, graph::shapeOf(table).drop_front());
    Value picked = graph::EmbeddingOp::create(rewriter, op.getLoc(), graph::withShape(op.getX().getType(), shape),
                                              table, op.getIndices(), rewriter.getI64IntegerAttr(-1), ArrayAttr());
    // [indices.., before.., after..] becomes [before.., indices.., after..].
    for (int64_t dim = 0; dim < rank - 1 + count; ++dim)
      back.push_back(dim < axis ? count + dim : dim < axis + count ? dim - axis : dim);
    rewriter.replaceOp(op, b.transpose(picked, back));
    return success();
  }
};

} // namespace

void addGatherPatterns(RewritePatternSet &patterns) { patterns.add<ExpandGather>(patterns.getContext()); }

} // namespace dtcc::exec
