//===- ExpandExperts.cpp - Mixture of experts as grouped products
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/exec/local/ExpandExperts.h"
#include "dialects/graph/Build.h"
#include "dialects/graph/ClampedSwish.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/graph/Shapes.h"
#include <string>

using namespace mlir;

namespace dtcc::exec {
namespace {

using graph::shapeOf;

/// Builds the parts of an expert layer on rows [n.., k]. Letters: those of the tokens, then
/// k picks, e experts, g gate and up or one product without a gate, f width, c channels in, d channels out. Rows of
/// halves meet their weights and are activated in f32, and are rounded once.
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
  Value wide(Value x) { return b.cast(x, wideType.getElementType()); }
  /// Rows times a number of each. What a kernel fuses it casts in registers, so this is no rounding; `x` has a reader
  /// or producer in the kernel already, which the casts join.
  Value weighted(Value x, Value weights) {
    Value each = b.broadcast(wide(weights), wideType, graph::range(0, wideType.getRank() - 1));
    return b.cast(b.mul(wide(x), each), activeType.getElementType());
  }
};

/// Builds the value of an expert's `hidden`, its activated gate times up or its activated only product, and its
/// gradients.
class Active {
public:
  Active(Rows &rows, graph::ExpertActivation kind, Value hidden) : b(rows.b), kind(kind) {
    if (graph::shapeOf(hidden)[rows.pair] == 1) {
      gate = b.reshape(hidden, rows.activeType.getShape());
      return;
    }
    auto parts =
        graph::UnstackOp::create(b.builder, b.loc, TypeRange{rows.activeType, rows.activeType}, hidden, rows.pair);
    gate = parts.getResult(0);
    up = parts.getResult(1);
    if (kind != graph::ExpertActivation::clamped_swish)
      return;
    Value limit = b.splat(gate, graph::kSwishLimit), below = b.splat(gate, -graph::kSwishLimit);
    // NaN stays NaN: it is beyond no limit.
    gateBeyond = b.compare(graph::Predicate::gt, gate, limit);
    gate = b.select(gateBeyond, limit, gate);
    Value low = b.compare(graph::Predicate::lt, up, below), high = b.compare(graph::Predicate::gt, up, limit);
    upBeyond = graph::OrOp::create(b.builder, b.loc, low, high);
    up = b.add(b.select(high, limit, b.select(low, below, up)), b.splat(up, 1));
  }

  Value value() { return up ? b.mul(open(), up) : open(); }

  /// The gradients of gate and up, or of the only product, given that of the value.
  SmallVector<Value> gradients(Value dvalue) {
    Value dgate = zeroWhere(gateBeyond, openGrad(up ? b.mul(dvalue, up) : dvalue));
    if (!up)
      return {dgate};
    return {dgate, zeroWhere(upBeyond, b.mul(dvalue, open()))};
  }

private:
  /// The activation of the gate.
  Value open() {
    if (opened)
      return opened;
    switch (kind) {
    case graph::ExpertActivation::silu:
      return opened = graph::SiluOp::create(b.builder, b.loc, gate);
    case graph::ExpertActivation::gelu:
    case graph::ExpertActivation::gelu_tanh:
      return opened = graph::GeluOp::create(b.builder, b.loc, gate, form());
    case graph::ExpertActivation::relu:
      return opened = graph::ReluOp::create(b.builder, b.loc, gate);
    case graph::ExpertActivation::relu_squared: {
      Value positive = graph::ReluOp::create(b.builder, b.loc, gate);
      return opened = b.mul(positive, positive);
    }
    case graph::ExpertActivation::clamped_swish:
      return opened = b.mul(gate, swishFactor());
    }
    llvm_unreachable("all activations are listed");
  }

  Value openGrad(Value dy) {
    switch (kind) {
    case graph::ExpertActivation::silu:
      return graph::SiluGradOp::create(b.builder, b.loc, gate, dy);
    case graph::ExpertActivation::gelu:
    case graph::ExpertActivation::gelu_tanh:
      return graph::GeluGradOp::create(b.builder, b.loc, gate, dy, form());
    case graph::ExpertActivation::relu:
      return graph::ReluGradOp::create(b.builder, b.loc, gate, dy);
    case graph::ExpertActivation::relu_squared:
      return b.mul(dy, b.mul(graph::ReluOp::create(b.builder, b.loc, gate), 2));
    case graph::ExpertActivation::clamped_swish: {
      // x s has the slope s + x scale s (1 - s).
      Value s = swishFactor(), rest = b.sub(b.splat(s, 1), s);
      return b.mul(dy, b.add(s, b.mul(b.mul(b.mul(gate, graph::kSwishScale), s), rest)));
    }
    }
    llvm_unreachable("all activations are listed");
  }

  graph::GeluForm form() const {
    return kind == graph::ExpertActivation::gelu ? graph::GeluForm::exact : graph::GeluForm::tanh;
  }
  Value swishFactor() { return graph::LogisticOp::create(b.builder, b.loc, b.mul(gate, graph::kSwishScale)); }
  Value zeroWhere(Value beyond, Value gradient) {
    return beyond ? b.select(beyond, b.splat(gradient, 0), gradient) : gradient;
  }

  graph::Build &b;
  graph::ExpertActivation kind;
  Value gate, up, gateBeyond, upBeyond, opened;
};

struct ExpandExperts : OpRewritePattern<graph::ExpertsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ExpertsOp op, PatternRewriter &rewriter) const override {
    Rows r(rewriter, op, op.getIds(), op.getHidden(), op.getExpertAxesAttr());
    Value hidden = r.product(r.tokens + "c,egfc->" + r.rows + "gf", op.getX(), op.getWIn(), op.getHidden().getType());
    // Weighted before the product, which then adds up the picks of a token.
    Value active = r.weighted(Active(r, op.getActivation(), hidden).value(), op.getWeights());
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
    Active active(r, op.getActivation(), op.getHidden());
    Value terms = r.b.mul(dactive, active.value());
    auto sums = graph::withShape(r.wideType, shapeOf(op.getDweights()));
    Value dweights = graph::ReduceOp::create(rewriter, op.getLoc(), sums, Reduction::Sum, terms,
                                             ArrayRef<int64_t>{r.activeType.getRank() - 1});
    SmallVector<Value> parts = active.gradients(r.weighted(dactive, op.getWeights()));
    Value dhidden = graph::StackOp::create(rewriter, op.getLoc(), op.getDhidden().getType(), parts, r.pair);
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
    Value active = r.weighted(Active(r, op.getActivation(), op.getHidden()).value(), op.getWeights());
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
