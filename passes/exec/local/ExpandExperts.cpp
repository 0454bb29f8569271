//===- ExpandExperts.cpp - Mixture of experts as grouped products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/local/ExpandExperts.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"
#include <string>

using namespace mlir;

namespace dtcc::exec {
namespace {

using graph::shapeOf;

/// Builds the parts of an expert layer on rows [n.., k]. Letters: those of the tokens, then
/// k picks, e experts, g gate or up, f width, c channels in, d channels out. Rows of halves
/// meet their weights and are activated in f32, and are rounded once.
struct Rows {
  graph::Build b;
  Value ids;
  ArrayAttr axes;
  std::string tokens, rows;
  RankedTensorType hiddenType, activeType, wideType;
  int64_t pair;

  Rows(PatternRewriter &rewriter, Operation *op, Value ids, Value hidden, ArrayAttr axes)
      : b(rewriter, op->getLoc()), ids(ids), axes(axes),
        tokens(StringRef("mnopqrstuvwxyz").take_front(graph::rankOf(ids) - 1).str()), rows(tokens + "k"),
        hiddenType(cast<RankedTensorType>(hidden.getType())), pair(hiddenType.getRank() - 2) {
    SmallVector<int64_t> shape(hiddenType.getShape());
    shape.erase(shape.begin() + pair);
    activeType = RankedTensorType::get(shape, hiddenType.getElementType());
    wideType = graph::isHalf(hidden) ? activeType.clone(rewriter.getF32Type()) : activeType;
  }

  Value product(const std::string &spec, Value lhs, Value rhs, Type type) {
    return graph::GroupedContractOp::create(b.builder, b.loc, type, spec, rows, lhs, rhs, ids, axes);
  }
  std::pair<Value, Value> gateAndUp(Value hidden) {
    auto parts = graph::UnstackOp::create(b.builder, b.loc, TypeRange{activeType, activeType}, hidden, pair);
    return {parts.getResult(0), parts.getResult(1)};
  }
  Value wide(Value x) { return b.cast(x, wideType.getElementType()); }
  /// Rows times a number of each. What a kernel fuses it casts in registers, so this is no rounding; `x` has a reader
  /// or producer in the kernel already, which the casts join.
  Value weighted(Value x, Value weights) {
    Value each = b.broadcast(wide(weights), wideType, graph::range(0, wideType.getRank() - 1));
    return b.cast(b.mul(wide(x), each), activeType.getElementType());
  }
  Value silu(Value x) { return graph::SiluOp::create(b.builder, b.loc, x); }
};

struct ExpandExperts : OpRewritePattern<graph::ExpertsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ExpertsOp op, PatternRewriter &rewriter) const override {
    Rows r(rewriter, op, op.getIds(), op.getHidden(), op.getExpertAxesAttr());
    Value hidden = r.product(r.tokens + "c,egfc->" + r.rows + "gf", op.getX(), op.getWIn(), op.getHidden().getType());
    auto [gate, up] = r.gateAndUp(hidden);
    // Weighted before the product, which then adds up the picks of a token.
    Value active = r.weighted(r.b.mul(r.silu(gate), up), op.getWeights());
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
    Value terms = r.b.mul(dactive, r.b.mul(open, up));
    auto sums = graph::withShape(r.wideType, shapeOf(op.getDweights()));
    Value dweights = graph::ReduceOp::create(rewriter, op.getLoc(), sums, Reduction::Sum, terms,
                                             ArrayRef<int64_t>{r.activeType.getRank() - 1});
    Value weighted = r.weighted(dactive, op.getWeights());
    Value dgate = graph::SiluGradOp::create(rewriter, op.getLoc(), gate, r.b.mul(weighted, up));
    Value dup = r.b.mul(weighted, open);
    Value dhidden =
        graph::StackOp::create(rewriter, op.getLoc(), op.getDhidden().getType(), ValueRange{dgate, dup}, r.pair);
    Value dx = r.product(r.rows + "gf,egfc->" + r.tokens + "c", dhidden, op.getWIn(), op.getDx().getType());
    rewriter.replaceOp(op, {dx, r.b.cast(dweights, graph::elementOf(op.getDweights())), dhidden});
    return success();
  }
};

struct ExpandExpertsWeightGrad : OpRewritePattern<graph::ExpertsWeightGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ExpertsWeightGradOp op, PatternRewriter &rewriter) const override {
    Rows r(rewriter, op, op.getIds(), op.getHidden(), op.getExpertAxesAttr());
    Value dwIn = r.product(r.tokens + "c," + r.rows + "gf->egfc", op.getX(), op.getDhidden(), op.getDwIn().getType());
    auto [gate, up] = r.gateAndUp(op.getHidden());
    Value active = r.weighted(r.b.mul(r.silu(gate), up), op.getWeights());
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
