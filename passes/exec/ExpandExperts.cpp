//===- ExpandExperts.cpp - Mixture of experts as grouped products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/ExpandExperts.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;

namespace dtcc::exec {
namespace {

using graph::shapeOf;

/// Builds the parts of an expert layer on rows [n.., k]. Letters: those of the tokens, then
/// k picks, e experts, g gate or up, f width, c channels in, d channels out.
struct Rows {
  graph::Build b;
  Value ids;
  ArrayAttr axes;
  std::string tokens, rows;
  RankedTensorType hiddenType, activeType;
  int64_t pair;

  Rows(PatternRewriter &rewriter, Operation *op, Value ids, Value hidden, ArrayAttr axes)
      : b(rewriter, op->getLoc()), ids(ids), axes(axes),
        tokens(StringRef("mnopqrstuvwxyz").take_front(graph::rankOf(ids) - 1).str()), rows(tokens + "k"),
        hiddenType(cast<RankedTensorType>(hidden.getType())), pair(hiddenType.getRank() - 2) {
    SmallVector<int64_t> shape(hiddenType.getShape());
    shape.erase(shape.begin() + pair);
    activeType = RankedTensorType::get(shape, hiddenType.getElementType());
  }

  Value product(const std::string &spec, Value lhs, Value rhs, Type type) {
    return graph::GroupedContractOp::create(b.builder, b.loc, type, spec, rows, lhs, rhs, ids, axes);
  }
  std::pair<Value, Value> gateAndUp(Value hidden) {
    auto parts = graph::UnstackOp::create(b.builder, b.loc, TypeRange{activeType, activeType}, hidden, pair);
    return {parts.getResult(0), parts.getResult(1)};
  }
  Value silu(Value x) { return graph::SiluOp::create(b.builder, b.loc, x); }
  /// A number of every row for all of its width.
  Value perRow(Value x) { return b.broadcast(x, activeType, graph::range(0, activeType.getRank() - 1)); }
};

struct ExpandExperts : OpRewritePattern<graph::ExpertsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ExpertsOp op, PatternRewriter &rewriter) const override {
    Rows r(rewriter, op, op.getIds(), op.getHidden(), op.getExpertAxesAttr());
    Value hidden = r.product(r.tokens + "c,egfc->" + r.rows + "gf", op.getX(), op.getWIn(), op.getHidden().getType());
    auto [gate, up] = r.gateAndUp(hidden);
    // Weighted before the product, which then adds up the picks of a token.
    Value active = r.b.mul(r.b.mul(r.silu(gate), up), r.perRow(op.getWeights()));
    Value y = r.product(r.rows + "f,edf->" + r.tokens + "d", active, op.getWOut(), op.getY().getType());
    rewriter.replaceOp(op, {y, hidden});
    return success();
  }
};

struct ExpandExpertsGrad : OpRewritePattern<graph::ExpertsGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ExpertsGradOp op, PatternRewriter &rewriter) const override {
    Rows r(rewriter, op, op.getIds(), op.getHidden(), op.getExpertAxesAttr());
    Value dactive = r.product(r.tokens + "d,edf->" + r.rows + "f", op.getDy(), op.getWOut(), r.activeType);
    auto [gate, up] = r.gateAndUp(op.getHidden());
    Value open = r.silu(gate);
    Value dweights = r.b.sum(r.b.mul(dactive, r.b.mul(open, up)), {r.activeType.getRank() - 1});
    Value weighted = r.b.mul(dactive, r.perRow(op.getWeights()));
    Value dgate = graph::SiluGradOp::create(rewriter, op.getLoc(), gate, r.b.mul(weighted, up));
    Value dup = r.b.mul(weighted, open);
    Value dhidden =
        graph::StackOp::create(rewriter, op.getLoc(), op.getDhidden().getType(), ValueRange{dgate, dup}, r.pair);
    Value dx = r.product(r.rows + "gf,egfc->" + r.tokens + "c", dhidden, op.getWIn(), op.getDx().getType());
    rewriter.replaceOp(op, {dx, dweights, dhidden});
    return success();
  }
};

struct ExpandExpertsWeightGrad : OpRewritePattern<graph::ExpertsWeightGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ExpertsWeightGradOp op, PatternRewriter &rewriter) const override {
    Rows r(rewriter, op, op.getIds(), op.getHidden(), op.getExpertAxesAttr());
    Value dwIn = r.product(r.tokens + "c," + r.rows + "gf->egfc", op.getX(), op.getDhidden(), op.getDwIn().getType());
    auto [gate, up] = r.gateAndUp(op.getHidden());
    Value active = r.b.mul(r.b.mul(r.silu(gate), up), r.perRow(op.getWeights()));
    Value dwOut = r.product(r.tokens + "d," + r.rows + "f->edf", op.getDy(), active, op.getDwOut().getType());
    rewriter.replaceOp(op, {dwIn, dwOut});
    return success();
  }
};
} // namespace

void addExpertPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandExperts, ExpandExpertsGrad, ExpandExpertsWeightGrad>(patterns.getContext());
}

} // namespace dtcc::exec
