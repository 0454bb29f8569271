//===- Canonicalize.cpp - Fold movement ops into their neighbours
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/ContractSpec.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/graph/Passes.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHCANONICALIZE
#include "passes/graph/Passes.h.inc"

namespace {

/// transpose(transpose(x)) is one transpose.
struct ComposeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> permutation;
    for (int64_t dim : op.getPermutation())
      permutation.push_back(inner.getPermutation()[dim]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getX(), permutation);
    return success();
  }
};

/// The term whose dimension `permutation[i]` is called `term[i]`.
std::string untransposed(const std::string &term, ArrayRef<int64_t> permutation) {
  std::string inner(term.size(), ' ');
  for (size_t i = 0; i < term.size(); ++i)
    inner[permutation[i]] = term[i];
  return inner;
}

/// A transposed operand of a product is the operand under another spec.
struct FoldOperandTranspose : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ContractOp op, PatternRewriter &rewriter) const override {
    ContractSpec spec = ContractSpec::parse(op.getSpec());
    auto lhs = op.getLhs().getDefiningOp<TransposeOp>(), rhs = op.getRhs().getDefiningOp<TransposeOp>();
    if (!lhs && !rhs)
      return failure();
    if (lhs)
      spec.lhs = untransposed(spec.lhs, lhs.getPermutation());
    if (rhs)
      spec.rhs = untransposed(spec.rhs, rhs.getPermutation());
    Value left = lhs ? lhs.getX() : op.getLhs(), right = rhs ? rhs.getX() : op.getRhs();
    rewriter.replaceOpWithNewOp<ContractOp>(op, op.getType(), spec.str(), left, right);
    return success();
  }
};

/// A product that only a transpose reads gives the transposed result at once.
struct FoldResultTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto product = op.getX().getDefiningOp<ContractOp>();
    if (!product || !product->hasOneUse())
      return failure();
    ContractSpec spec = ContractSpec::parse(product.getSpec());
    std::string result;
    for (int64_t dim : op.getPermutation())
      result += spec.result[dim];
    spec.result = result;
    // At the product's place: its operands dominate it, and it dominates the transpose.
    rewriter.setInsertionPoint(product);
    auto folded =
        ContractOp::create(rewriter, product.getLoc(), op.getType(), spec.str(), product.getLhs(), product.getRhs());
    folded->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    rewriter.replaceOp(op, folded);
    rewriter.eraseOp(product);
    return success();
  }
};

/// A transposed broadcast is a broadcast, perhaps of the small operand transposed.
struct FoldBroadcastTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getX().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return failure();
    // `dims` holds the dimension of the small operand that stands at each place of the result.
    SmallVector<int64_t> dims, order;
    for (auto [to, from] : llvm::enumerate(op.getPermutation())) {
      auto found = llvm::find(broadcast.getDims(), from);
      if (found == broadcast.getDims().end())
        continue;
      dims.push_back(to);
      order.push_back(found - broadcast.getDims().begin());
    }
    Value x = Build(rewriter, op.getLoc()).transpose(broadcast.getX(), order);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), x, dims);
    return success();
  }
};

/// A rotation of which only the transposed result is read rotates transposed input.
struct FoldRotaryTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto rotary = op.getX().getDefiningOp<RotaryOp>();
    if (!rotary || !rotary->hasOneUse())
      return failure();
    SmallVector<int64_t> dims, order;
    int64_t pair = 0;
    for (auto [to, from] : llvm::enumerate(op.getPermutation())) {
      if (from == static_cast<int64_t>(rotary.getPair()))
        pair = to;
      auto found = llvm::find(rotary.getTableDims(), from);
      if (found == rotary.getTableDims().end())
        continue;
      dims.push_back(to);
      order.push_back(found - rotary.getTableDims().begin());
    }
    Build b(rewriter, rotary.getLoc());
    Value x = b.transpose(rotary.getX(), op.getPermutation());
    Value cosine = b.transpose(rotary.getCos(), order), sine = b.transpose(rotary.getSin(), order);
    rewriter.replaceOpWithNewOp<RotaryOp>(op, op.getType(), x, cosine, sine, pair, dims, rotary.getInverse());
    rewriter.eraseOp(rotary);
    return success();
  }
};

/// A cell-by-cell op of which only the transposed result is read computes on transposed
/// operands, where that transposes no more values than before: at most one operand that
/// neither is a broadcast nor can give its transpose at once.
struct FoldElementwiseTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    Operation *inner = op.getX().getDefiningOp();
    if (!isa_and_nonnull<ElementwiseOpInterface>(inner) || !inner->hasOneUse())
      return failure();
    unsigned transposed = 0;
    for (Value operand : inner->getOperands())
      transposed += !operand.getDefiningOp<BroadcastOp>();
    if (transposed > 1)
      return failure();
    rewriter.setInsertionPoint(inner);
    IRMapping mapping;
    for (Value operand : inner->getOperands())
      mapping.map(operand, Build(rewriter, op.getLoc()).transpose(operand, op.getPermutation()));
    Operation *clone = rewriter.clone(*inner, mapping);
    clone->getResult(0).setType(op.getType());
    rewriter.replaceOp(op, clone);
    rewriter.eraseOp(inner);
    return success();
  }
};

struct Canonicalize : impl::GraphCanonicalizeBase<Canonicalize> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ComposeTransposes, FoldOperandTranspose, FoldResultTranspose, FoldBroadcastTranspose,
                 FoldRotaryTranspose, FoldElementwiseTranspose>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace dtcc::graph
