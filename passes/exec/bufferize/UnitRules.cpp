//===- UnitRules.cpp - Bufferization of the gathers and reductions of buckets -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "passes/exec/bufferize/OpRules.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

void dtcc::exec::fillGaps(FlatSymbolRefAttr symbol, Bufferizer &b) {
  if (!b.storage.takeGaps(symbol))
    return;
  spmd::BucketOp bucket = b.storage.bucketOp(symbol);
  Place whole = b.storage.bucket(symbol);
  SmallVector<std::pair<int64_t, int64_t>> taken;
  for (auto state : b.module().getOps<graph::StateOp>())
    for (auto [name, begin] : spmd::bucketsOf(state))
      if (name == bucket.getOfAttr()) {
        auto type = cast<spmd::TensorType>(state->getAttrOfType<TypeAttr>(spmd::kLayoutAttr).getValue());
        taken.push_back({begin, begin + spmd::localType(type, b.mesh()).getNumElements()});
      }
  llvm::sort(taken);
  taken.push_back({whole.sizes[0], 0});
  int64_t end = 0;
  for (auto [begin, next] : taken) {
    if (begin > end) {
      Place gap = whole;
      gap.offset += end * getElementBytes(whole.element);
      gap.sizes[0] = begin - end;
      b.fill(gap, cast<TypedAttr>(b.builder().getZeroAttr(whole.element)));
    }
    end = next;
  }
}

static LogicalResult lowerReduceBucket(spmd::ReduceBucketOp op, Bufferizer &b) {
  Place whole = b.storage.bucket(op.getBucketAttr()), share = shareOf(whole, op.getScatter(), b);
  fillGaps(op.getBucketAttr(), b);
  std::optional<Bufferizer::Destination> into;
  if (op.getInto()) {
    bool repeated = op->getParentOfType<spmd::PhaseOp>().getRepeat() > 1;
    // A share is written as a whole.
    b.storage.takeGaps(op.getIntoAttr());
    into = {b.storage.bucket(op.getIntoAttr()), op.getAgain() ? Add : repeated ? AddUnlessFirstSlot : Overwrite};
  }
  // Without a sum over slots the collective writes where the share is kept.
  bool direct = into && !into->accumulate && op.getSum().empty() && !op.getScatter().empty();
  auto reduce = [&](CollectiveKind kind, ArrayAttr axes, const Place &from, const Place &to) {
    CollectiveOp made = b.collective(kind, Reduction::Sum, axes, from, to);
    made.setOfParameters(true);
    made.setSlotAttr(op.getSlotAttr());
  };
  if (!op.getScatter().empty())
    reduce(CollectiveKind::ReduceScatter, op.getScatter(), whole, direct ? into->place : share);
  if (!op.getSum().empty())
    reduce(CollectiveKind::AllReduce, op.getSum(), share, share);
  return into && !direct ? b.store(share, *into, op.getLoc()) : success();
}

static LogicalResult lowerGatherUnit(spmd::GatherUnitOp op, Bufferizer &b) {
  Place share = b.storage.bucket(op.getBucketAttr()), whole = b.place(op.getY());
  // Narrowed to where it is wanted: the collective gathers in place, and no other copy is needed.
  if (share.element != whole.element) {
    Place part = shareOf(whole, op.getAxes(), b);
    Block body;
    Value x = body.addArgument(RankedTensorType::get(share.sizes, share.element), op.getLoc());
    OpBuilder builder(op.getContext());
    builder.setInsertionPointToEnd(&body);
    Value narrow = graph::CastOp::create(builder, op.getLoc(), RankedTensorType::get(share.sizes, whole.element), x);
    YieldOp::create(builder, op.getLoc(), narrow);
    if (failed(b.kernel(op.getLoc(), "narrow", body, {share}, {{part, Overwrite}}, {-1})))
      return failure();
    share = part;
  }
  b.collective(CollectiveKind::AllGather, Reduction::Sum, op.getAxes(), share, whole).setOfParameters(true);
  return success();
}

static LogicalResult lowerUnitView(spmd::UnitViewOp op, Bufferizer &b) {
  const Place &unit = b.placeOf(op.getUnit());
  Place range = Place::dense(unit.buffer, op.getY().getType());
  range.offset = unit.offset + op.getOffset() * getElementBytes(unit.element);
  b.setPlace(op.getY(), range);
  return success();
}

/// Memory is free after the last use.
static LogicalResult lowerRelease(spmd::ReleaseOp, Bufferizer &) { return success(); }

void dtcc::exec::addUnitRules(OpRules &rules) {
  rules[spmd::ReduceBucketOp::getOperationName()] = ruleOf<spmd::ReduceBucketOp, lowerReduceBucket>();
  rules[spmd::GatherUnitOp::getOperationName()] = ruleOf<spmd::GatherUnitOp, lowerGatherUnit>();
  OpRule &view = rules[spmd::UnitViewOp::getOperationName()] = ruleOf<spmd::UnitViewOp, lowerUnitView>();
  view.isView = true;
  rules[spmd::ReleaseOp::getOperationName()] = ruleOf<spmd::ReleaseOp, lowerRelease>();
}
