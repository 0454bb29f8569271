//===- SeparateCounts.cpp - Counts of labels without their logits
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Build.h"
#include "dialects/graph/Shapes.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/graph/Passes.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHSEPARATECOUNTS
#include "passes/graph/Passes.h.inc"

/// The number of labels that a cross entropy counts, computed from the labels.
static Value countLabels(OpBuilder &builder, CrossEntropyOp loss) {
  Build b(builder, loss.getLoc());
  Value labels = loss.getLabels();
  if (!loss.getIgnoreIndex())
    return b.splat(loss.getCount(), static_cast<double>(product(shapeOf(labels))));
  auto ignored = static_cast<double>(static_cast<int64_t>(*loss.getIgnoreIndex()));
  Value counted = b.cast(b.compare(Predicate::ne, labels, b.splat(labels, ignored)), builder.getF32Type());
  return b.sum(counted, range(0, rankOf(labels)));
}

namespace {
struct SeparateCounts : impl::GraphSeparateCountsBase<SeparateCounts> {
  void runOnOperation() override {
    func::FuncOp function = findLoss(getOperation());
    if (!function)
      return signalPassFailure();
    auto divides = [](OpOperand &use) { return !isa<func::ReturnOp>(use.getOwner()); };
    for (auto loss : llvm::to_vector(function.getOps<CrossEntropyOp>())) {
      if (llvm::none_of(loss.getCount().getUses(), divides))
        continue;
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(loss);
      loss.getCount().replaceUsesWithIf(countLabels(builder, loss), divides);
    }
  }
};
} // namespace
} // namespace dtcc::graph
