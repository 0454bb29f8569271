//===- SplitAccumulation.cpp - Accumulate the terms of a sum one by one
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/graph/Graph.h"
#include "dialects/spmd/Spmd.h"
#include "passes/exec/Passes.h"

namespace dtcc::exec {
#define GEN_PASS_DEF_SPLITACCUMULATION
#include "passes/exec/Passes.h.inc"
} // namespace dtcc::exec

using namespace mlir;

namespace dtcc::exec {
namespace {

/// The terms of a sum that nothing else reads, left to right. A term stands where it is made.
void collectTerms(Value value, SmallVectorImpl<Value> &terms) {
  auto add = value.getDefiningOp<graph::AddOp>();
  if (!add || !add->hasOneUse()) {
    terms.push_back(value);
    return;
  }
  collectTerms(add.getLhs(), terms);
  collectTerms(add.getRhs(), terms);
}

struct SplitAccumulation : impl::SplitAccumulationBase<SplitAccumulation> {
  void runOnOperation() override {
    SmallVector<spmd::AccumulateOp> work;
    getOperation()->walk([&](spmd::AccumulateOp op) { work.push_back(op); });
    for (spmd::AccumulateOp op : work) {
      SmallVector<Value> terms;
      collectTerms(op.getX(), terms);
      if (terms.size() < 2)
        continue;
      // In the order of their making, so that each is dead before the next is made.
      llvm::sort(terms, [&](Value a, Value b) {
        Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
        if (!first || !second || first->getBlock() != second->getBlock())
          return !first && second;
        return first != second && first->isBeforeInBlock(second);
      });
      Operation *sum = op.getX().getDefiningOp();
      bool again = op.getAgain();
      Operation *last = nullptr;
      for (Value term : terms) {
        OpBuilder builder(op);
        Operation *behind = term.getDefiningOp();
        if (!behind || behind->getBlock() != op->getBlock())
          behind = nullptr;
        // One value may be two terms, and one op may make two: the first to be accumulated stays the first.
        if (last && (!behind || behind->isBeforeInBlock(last)))
          behind = last;
        if (behind)
          builder.setInsertionPointAfter(behind);
        last = spmd::AccumulateOp::create(builder, op.getLoc(), term, op.getBucketAttr(), op.getOffsetAttr(),
                                          again ? builder.getUnitAttr() : UnitAttr());
        again = true;
      }
      op.erase();
      SmallVector<Operation *> dead{sum};
      while (!dead.empty()) {
        Operation *last = dead.pop_back_val();
        if (!last || !isa<graph::AddOp>(last) || !last->use_empty())
          continue;
        for (Value operand : last->getOperands())
          dead.push_back(operand.getDefiningOp());
        last->erase();
      }
    }
  }
};
} // namespace
} // namespace dtcc::exec
