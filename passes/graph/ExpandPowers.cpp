//===- ExpandPowers.cpp - Squares and roots instead of powers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/graph/Passes.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHEXPANDPOWERS
#include "passes/graph/Passes.h.inc"

namespace {
struct ExpandPowers : impl::GraphExpandPowersBase<ExpandPowers> {
  void runOnOperation() override {
    SmallVector<PowOp> powers;
    getOperation().walk([&](PowOp op) { powers.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (PowOp op : powers) {
      std::optional<double> exponent = isFloat(op.getY()) ? splatValue(op.getRhs()) : std::nullopt;
      if (!exponent || *exponent == 0 || !isSimplePower(*exponent))
        continue;
      Operation *broadcast = op.getRhs().getDefiningOp();
      rewriter.setInsertionPoint(op);
      Operation *before = op->getPrevNode();
      Value result = Build(rewriter, op.getLoc()).power(op.getLhs(), *exponent);
      // The ops that stand for the power keep what is known of it.
      for (Operation *made = before ? before->getNextNode() : &op->getBlock()->front(); made != op;
           made = made->getNextNode())
        made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      rewriter.replaceOp(op, result);
      // The exponent, and what it was repeated from.
      while (broadcast && broadcast->use_empty()) {
        Operation *from = broadcast->getNumOperands() ? broadcast->getOperand(0).getDefiningOp() : nullptr;
        rewriter.eraseOp(broadcast);
        broadcast = from;
      }
    }
  }
};
} // namespace
} // namespace dtcc::graph
