//===- RecoverComposites.cpp - The pass over all families
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"
#include "passes/graph/Passes.h"
#include "passes/graph/recover/Recover.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHRECOVERCOMPOSITES
#include "passes/graph/Passes.h.inc"
#include <map>

void eraseDead(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.front())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

namespace {
struct RecoverComposites : impl::GraphRecoverCompositesBase<RecoverComposites> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || !function.getBody().hasOneBlock())
        continue;
      // Dead ops would count as users outside of a region. Norms and rotary come before
      // attention, which ends where they begin.
      eraseDead(function);
      std::map<StringRef, int64_t> before = countOps(function);
      // The last one changes ops that regions of the others begin with.
      for (auto recover : {recoverActivations, recoverNorms, recoverRotary, recoverAttention, recoverExperts,
                           recoverCrossEntropy, recoverNearOne}) {
        recover(function);
        eraseDead(function);
      }
      // Every layer has built its own tables of the same angles.
      IRRewriter rewriter(&getContext());
      DominanceInfo dominance(function);
      eliminateCommonSubExpressions(rewriter, dominance, function);
      for (const auto &[name, count] : countOps(function))
        if (int64_t made = count - before[name]; made > 0 && name.starts_with("graph."))
          remark::passed(function.getLoc(), remark::RemarkOpts::name("recovered").category(getArgument()))
              << remark::metric("Op", name.str()) << remark::metric("Count", made);
    }
  }

private:
  /// How many ops of each name a function has, if remarks were asked for.
  static std::map<StringRef, int64_t> countOps(func::FuncOp function) {
    std::map<StringRef, int64_t> counts;
    if (function.getContext()->getRemarkEngine())
      function.walk([&](Operation *op) { ++counts[op->getName().getStringRef()]; });
    return counts;
  }
};
} // namespace
} // namespace dtcc::graph
