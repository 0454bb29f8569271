//===- ExpandComposites.cpp - Norms and softmax as reductions and elementwise ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel generator knows cells and reductions. What is made of these is expanded
// here, on local shapes, just before fusion puts it together again with its neighbours.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Origin.h"
#include "dialects/graph/PrecisionPolicy.h"
#include "dialects/spmd/OnHost.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/exec/Passes.h"
#include "passes/exec/local/ExpandExperts.h"
#include "passes/exec/local/ExpandGathers.h"
#include "passes/exec/local/ExpandIntegers.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_EXPANDCOMPOSITES
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

/// The f32 of a half: sums and differences are taken in f32. What is fused with it pays
/// no pass over memory.
Value widened(PatternRewriter &rewriter, Location loc, Value x) {
  return graph::isHalf(x) ? graph::Build(rewriter, loc).cast(x, rewriter.getF32Type()) : x;
}

/// Builds expressions over tensors of one shape, some dimensions of which are
/// normalised together, in f32 if the op's are halves.
struct Expression {
  PatternRewriter &rewriter;
  Location loc;
  RankedTensorType type; // the full shape
  SmallVector<int64_t> dims, others;

  Expression(PatternRewriter &rewriter, Operation *op, Value full, ArrayRef<int64_t> normalised)
      : rewriter(rewriter), loc(op->getLoc()), type(cast<RankedTensorType>(full.getType())),
        dims(normalised.begin(), normalised.end()) {
    if (graph::isHalf(full))
      type = type.clone(rewriter.getF32Type());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!llvm::is_contained(dims, dim))
        others.push_back(dim);
  }

  int64_t count() const {
    int64_t n = 1;
    for (int64_t dim : dims)
      n *= type.getDimSize(dim);
    return n;
  }
  RankedTensorType shapeOf(ArrayRef<int64_t> which) const {
    SmallVector<int64_t> shape;
    for (int64_t dim : which)
      shape.push_back(type.getDimSize(dim));
    return RankedTensorType::get(shape, type.getElementType());
  }
  Value constant(RankedTensorType shape, double value) {
    auto attr = DenseElementsAttr::get(shape, rewriter.getFloatAttr(shape.getElementType(), value));
    return graph::ConstantOp::create(rewriter, loc, shape, attr);
  }
  Value wide(Value x) { return widened(rewriter, loc, x); }
  /// Replaces the op by values in the types of its results.
  void replace(Operation *op, ArrayRef<Value> values) {
    SmallVector<Value> results;
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
      results.push_back(graph::Build(rewriter, loc).cast(value, getElementTypeOrSelf(result.getType())));
    rewriter.replaceOp(op, results);
  }
  Value add(Value x, Value y) { return graph::AddOp::create(rewriter, loc, x, y); }
  Value sub(Value x, Value y) { return graph::SubOp::create(rewriter, loc, x, y); }
  Value mul(Value x, Value y) { return graph::MulOp::create(rewriter, loc, x, y); }
  Value scale(Value x, double factor) { return mul(x, constant(cast<RankedTensorType>(x.getType()), factor)); }
  /// Reduces the normalised dimensions.
  Value reduce(Reduction kind, Value x) {
    return graph::ReduceOp::create(rewriter, loc, shapeOf(others), kind, x, dims);
  }
  Value mean(Value x) { return scale(reduce(Reduction::Sum, x), 1.0 / double(count())); }
  /// Sums over the other dimensions.
  Value overRows(Value x) { return graph::ReduceOp::create(rewriter, loc, shapeOf(dims), Reduction::Sum, x, others); }
  /// Repeats a statistic over the normalised dimensions, or a parameter over the others.
  Value perRow(Value x) { return graph::BroadcastOp::create(rewriter, loc, type, x, others); }
  Value perCell(Value x) { return graph::BroadcastOp::create(rewriter, loc, type, x, dims); }
};

struct ExpandLayerNorm : OpRewritePattern<graph::LayerNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::LayerNormOp op, PatternRewriter &rewriter) const override {
    Expression e(rewriter, op, op.getX(), op.getDims());
    Value mean = e.mean(e.wide(op.getX()));
    Value centred = e.sub(e.wide(op.getX()), e.perRow(mean));
    Value variance = e.mean(e.mul(centred, centred));
    Value eps = e.constant(cast<RankedTensorType>(variance.getType()), op.getEps().convertToDouble());
    Value rstd = graph::RsqrtOp::create(rewriter, op.getLoc(), e.add(variance, eps));
    Value normal = e.mul(centred, e.perRow(rstd));
    Value y = e.add(e.mul(normal, e.perCell(e.wide(op.getScale()))), e.perCell(e.wide(op.getBias())));
    e.replace(op, {y, mean, rstd});
    return success();
  }
};

// With u = dy * scale and n = (x - mean) * rstd: dx = rstd * (u - mean(u) - n * mean(u * n)).
struct ExpandLayerNormGrad : OpRewritePattern<graph::LayerNormGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::LayerNormGradOp op, PatternRewriter &rewriter) const override {
    Expression e(rewriter, op, op.getX(), op.getDims());
    Value normal = e.mul(e.sub(e.wide(op.getX()), e.perRow(op.getMean())), e.perRow(op.getRstd()));
    Value u = e.mul(e.wide(op.getDy()), e.perCell(e.wide(op.getScale())));
    Value centred = e.sub(u, e.perRow(e.mean(u)));
    Value along = e.mul(normal, e.perRow(e.mean(e.mul(u, normal))));
    e.replace(op, e.mul(e.sub(centred, along), e.perRow(op.getRstd())));
    return success();
  }
};

struct ExpandLayerNormParamGrad : OpRewritePattern<graph::LayerNormParamGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::LayerNormParamGradOp op, PatternRewriter &rewriter) const override {
    Expression e(rewriter, op, op.getX(), op.getDims());
    Value normal = e.mul(e.sub(e.wide(op.getX()), e.perRow(op.getMean())), e.perRow(op.getRstd()));
    e.replace(op, {e.overRows(e.mul(e.wide(op.getDy()), normal)), e.overRows(e.wide(op.getDy()))});
    return success();
  }
};

struct ExpandRmsNorm : OpRewritePattern<graph::RmsNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::RmsNormOp op, PatternRewriter &rewriter) const override {
    Expression e(rewriter, op, op.getX(), op.getDims());
    Value square = e.mean(e.mul(e.wide(op.getX()), e.wide(op.getX())));
    Value eps = e.constant(cast<RankedTensorType>(square.getType()), op.getEps().convertToDouble());
    Value rstd = graph::RsqrtOp::create(rewriter, op.getLoc(), e.add(square, eps));
    Value y = e.mul(e.mul(e.wide(op.getX()), e.perRow(rstd)), e.perCell(e.wide(op.getScale())));
    e.replace(op, {y, rstd});
    return success();
  }
};

// With u = dy * scale and n = x * rstd: dx = rstd * (u - n * mean(u * n)).
struct ExpandRmsNormGrad : OpRewritePattern<graph::RmsNormGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::RmsNormGradOp op, PatternRewriter &rewriter) const override {
    Expression e(rewriter, op, op.getX(), op.getDims());
    Value normal = e.mul(e.wide(op.getX()), e.perRow(op.getRstd()));
    Value u = e.mul(e.wide(op.getDy()), e.perCell(e.wide(op.getScale())));
    Value along = e.mul(normal, e.perRow(e.mean(e.mul(u, normal))));
    e.replace(op, e.mul(e.sub(u, along), e.perRow(op.getRstd())));
    return success();
  }
};

struct ExpandRmsNormParamGrad : OpRewritePattern<graph::RmsNormParamGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::RmsNormParamGradOp op, PatternRewriter &rewriter) const override {
    Expression e(rewriter, op, op.getX(), op.getDims());
    e.replace(op, e.overRows(e.mul(e.wide(op.getDy()), e.mul(e.wide(op.getX()), e.perRow(op.getRstd())))));
    return success();
  }
};

struct ExpandSoftmax : OpRewritePattern<graph::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::SoftmaxOp op, PatternRewriter &rewriter) const override {
    Expression e(rewriter, op, op.getX(), op.getDims());
    Value shifted = e.sub(e.wide(op.getX()), e.perRow(e.reduce(Reduction::Max, e.wide(op.getX()))));
    Value exp = graph::ExpOp::create(rewriter, op.getLoc(), shifted);
    Value sum = e.reduce(Reduction::Sum, exp);
    if (op.getLog()) {
      e.replace(op, e.sub(shifted, e.perRow(graph::LogOp::create(rewriter, op.getLoc(), sum))));
      return success();
    }
    Value one = e.constant(cast<RankedTensorType>(sum.getType()), 1.0);
    e.replace(op, e.mul(exp, e.perRow(graph::DivOp::create(rewriter, op.getLoc(), one, sum))));
    return success();
  }
};

// Rotation of pairs: the two halves are parts of x, and the result is their stack.
struct ExpandRotary : OpRewritePattern<graph::RotaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::RotaryOp op, PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getX().getType());
    int64_t pair = op.getPair();
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + pair);
    auto stored = RankedTensorType::get(shape, type.getElementType());
    auto parts = graph::UnstackOp::create(rewriter, loc, TypeRange{stored, stored}, op.getX(), pair);
    // Halves are turned in f32, by tables in f32.
    RankedTensorType half = graph::isHalf(op.getX()) ? stored.clone(rewriter.getF32Type()) : stored;
    SmallVector<int64_t> dims;
    for (int64_t dim : op.getTableDims())
      dims.push_back(dim > pair ? dim - 1 : dim);
    Value cos = graph::BroadcastOp::create(rewriter, loc, half, widened(rewriter, loc, op.getCos()), dims);
    Value sin = graph::BroadcastOp::create(rewriter, loc, half, widened(rewriter, loc, op.getSin()), dims);
    Value x0 = widened(rewriter, loc, parts.getResult(0)), x1 = widened(rewriter, loc, parts.getResult(1));
    auto mul = [&](Value a, Value b) -> Value { return graph::MulOp::create(rewriter, loc, a, b); };
    Value plus0 = mul(x0, cos), turn0 = mul(x1, sin), plus1 = mul(x1, cos), turn1 = mul(x0, sin);
    if (op.getInverse())
      std::swap(turn0, turn1), std::swap(plus0, plus1);
    // Forward: y0 = x0 cos - x1 sin, y1 = x1 cos + x0 sin. Inverse: y1 = x1 cos - x0 sin, y0 = x0 cos + x1 sin.
    Value less = graph::SubOp::create(rewriter, loc, plus0, turn0),
          more = graph::AddOp::create(rewriter, loc, plus1, turn1);
    graph::Build b(rewriter, loc);
    less = b.cast(less, type.getElementType()), more = b.cast(more, type.getElementType());
    SmallVector<Value> ys = op.getInverse() ? SmallVector<Value>{more, less} : SmallVector<Value>{less, more};
    rewriter.replaceOpWithNewOp<graph::StackOp>(op, type, ys, pair);
    return success();
  }
};

/// Says of what an op becomes in which pass it runs. What the backward pass computes from operands of the forward pass
/// is then another op to CSE: it is computed again there, in a kernel that reads these operands anyway, instead of
/// being kept between the passes. So for gradients of inputs and of weights, which walk rows and columns and are two
/// kernels.
/// And where what it makes waits.
struct KeepPhases : RewriterBase::Listener {
  std::optional<graph::Phase> phase;
  Attribute onHost;
  void notifyPatternBegin(const Pattern &, Operation *op) override {
    phase = graph::findPhase(op);
    onHost = op->getAttr(spmd::kOnHostAttr);
  }
  void notifyPatternEnd(const Pattern &, LogicalResult) override {
    phase = std::nullopt;
    onHost = {};
  }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (phase)
      graph::setPhase(op, *phase);
    if (onHost)
      op->setAttr(spmd::kOnHostAttr, onHost);
  }
};

struct ExpandComposites : impl::ExpandCompositesBase<ExpandComposites> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandLayerNorm, ExpandLayerNormGrad, ExpandLayerNormParamGrad, ExpandRmsNorm, ExpandRmsNormGrad,
                 ExpandRmsNormParamGrad, ExpandSoftmax, ExpandRotary>(&getContext());
    addExpertPatterns(patterns);
    addGatherPatterns(patterns);
    addIntegerPatterns(patterns);
    KeepPhases phases;
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), GreedyRewriteConfig().setListener(&phases))))
      signalPassFailure();
  }
};
} // namespace
} // namespace dtcc::exec
