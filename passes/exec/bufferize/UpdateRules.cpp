//===- UpdateRules.cpp - Inputs, buckets, norm, update and report -*- C++ -*-===//
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

static LogicalResult lowerInput(dist::InputOp op, Bufferizer &b) {
  b.setPlace(op.getY(), b.inputPlace(op));
  return success();
}

/// The range of a bucket that a view or an accumulation names.
static Place rangeOf(FlatSymbolRefAttr symbol, int64_t offset, ShapedType type, Bufferizer &b) {
  Place storage = b.bucket(symbol), range = Place::dense(storage.buffer, type);
  range.offset = offset * getElementBytes(type.getElementType());
  return range;
}

static LogicalResult lowerBucketView(dist::ViewOp op, Bufferizer &b) {
  b.setPlace(op.getY(), rangeOf(op.getBucketAttr(), op.getOffset(), op.getType(), b));
  return success();
}

static Bufferizer::Destination destinationOf(dist::AccumulateOp op, Bufferizer &b) {
  auto bucket =
      SymbolTable::lookupNearestSymbolFrom<dist::BucketOp>(op->getParentOfType<dist::ProgramOp>(), op.getBucketAttr());
  bool repeated =
      op->getParentOfType<dist::PhaseOp>().getRepeat() > 1 && bucket.getRole() != dist::BucketRole::Transient;
  return {rangeOf(op.getBucketAttr(), op.getOffset(), cast<ShapedType>(op.getX().getType()), b),
          op.getAgain() ? Add
          : repeated    ? AddUnlessFirstSlot
                        : Overwrite};
}
static void aimAccumulate(Operation *operation, Bufferizer &b) {
  auto op = cast<dist::AccumulateOp>(operation);
  auto destination = destinationOf(op, b);
  b.aim(op.getX(), destination.place, destination.accumulate);
}
static LogicalResult lowerAccumulate(dist::AccumulateOp op, Bufferizer &b) {
  auto destination = destinationOf(op, b);
  if (auto aimed = b.destinationOf(op.getX()); aimed && aimed->place == destination.place)
    return success();
  return b.store(b.placeOf(op.getX()), destination, op.getLoc());
}

/// A copy: a kernel that read the old value while it wrote the new one here would race with itself.
static LogicalResult lowerStore(dist::StoreOp op, Bufferizer &b) {
  b.copy(b.placeOf(op.getX()), rangeOf(op.getBucketAttr(), op.getOffset(), cast<ShapedType>(op.getX().getType()), b),
         "store");
  return success();
}

static LogicalResult lowerSumSquares(dist::SumSquaresOp op, Bufferizer &b) {
  Place out = b.place(op.getY());
  for (auto [i, x] : llvm::enumerate(op.getXs())) {
    Place from = *b.dense(b.placeOf(x), "dense").reshaped({cast<ShapedType>(x.getType()).getNumElements()});
    b.library(op, "sum_squares", b.view(from), b.view(out), {b.builder().getI64IntegerAttr(i ? Add : Overwrite)},
              /*updates=*/i != 0);
  }
  return success();
}

static LogicalResult lowerGradScale(dist::GradScaleOp op, Bufferizer &b) {
  Place norm = b.place(op.getNorm()), scale = b.place(op.getScale());
  b.library(op, "grad_scale", {b.view(b.placeOf(op.getSquares())), b.view(b.placeOf(op.getCount()))},
            {b.view(norm), b.view(scale)}, {b.builder().getF64FloatAttr(op.getClip().convertToDouble())});
  return success();
}

/// The optimizer's library op and its attributes behind bucket and coordinate.
static std::pair<StringRef, SmallVector<Attribute>> optimizerOp(Attribute optimizer, OpBuilder &builder) {
  if (auto adam = dyn_cast<graph::AdamAttr>(optimizer))
    return {"adamw",
            {builder.getF64FloatAttr(adam.getBeta1()), builder.getF64FloatAttr(adam.getBeta2()),
             builder.getF64FloatAttr(adam.getEps()), builder.getI64IntegerAttr(adam.getDecoupled()),
             builder.getI64IntegerAttr(1)}};
  if (auto sgd = dyn_cast<graph::SgdAttr>(optimizer))
    return {"sgd",
            {builder.getF64FloatAttr(sgd.getMomentum()), builder.getF64FloatAttr(sgd.getDampening()),
             builder.getI64IntegerAttr(sgd.getNesterov())}};
  return {};
}

/// This rank's share of a whole bucket over `flat` axes.
static Place shareOf(Place whole, ArrayAttr flat, Bufferizer &b) {
  if (flat.empty())
    return whole;
  whole.sizes[0] /= b.mesh().product(dist::toAxes(flat));
  whole.blockOf = b.communicator(flat).getAttr();
  whole.blockStride = whole.sizes[0];
  return whole;
}

static LogicalResult lowerUpdate(dist::UpdateBucketOp op, Bufferizer &b) {
  auto [mnemonic, parameters] = optimizerOp(op.getOptimizer(), b.builder());
  if (mnemonic.empty())
    return op.emitOpError("optimizer has no library op: ") << op.getOptimizer();
  Place gradient =
      *b.dense(b.placeOf(op.getGrad()), "dense").reshaped({cast<ShapedType>(op.getGrad().getType()).getNumElements()});
  SmallVector<Value> ins{b.view(gradient), b.view(b.placeOf(op.getScale())), b.view(b.scalarPlace(ScalarKind::lr)),
                         b.view(b.scalarPlace(ScalarKind::step))};
  // A parameter bucket that itself is flat holds nothing but the share.
  auto bucket =
      SymbolTable::lookupNearestSymbolFrom<dist::BucketOp>(op->getParentOfType<dist::ProgramOp>(), op.getBucketAttr());
  Place storage = b.bucket(op.getBucketAttr());
  SmallVector<Value> outs{b.view(bucket.getFlat().empty() ? shareOf(storage, op.getFlat(), b) : storage)};
  for (Attribute slot : op.getSlots())
    outs.push_back(b.view(b.bucket(cast<FlatSymbolRefAttr>(slot))));
  SmallVector<Attribute> all{op.getBucketAttr(), b.coordinate(op.getFlat())};
  llvm::append_range(all, parameters);
  b.library(op, mnemonic, ins, outs, all, /*updates=*/true);
  return success();
}

static LogicalResult lowerGatherBucket(dist::GatherBucketOp op, Bufferizer &b) {
  Place whole = b.bucket(op.getBucketAttr());
  b.collective(CollectiveKind::all_gather, Reduction::sum, op.getAxes(), shareOf(whole, op.getAxes(), b), whole);
  return success();
}

static SmallVector<std::pair<Value, ScalarKind>> scalarsOf(dist::ReportOp op) {
  SmallVector<std::pair<Value, ScalarKind>> scalars{{op.getLossSum(), ScalarKind::loss_sum},
                                                    {op.getCount(), ScalarKind::loss_count}};
  if (op.getGradNorm())
    scalars.push_back({op.getGradNorm(), ScalarKind::grad_norm});
  return scalars;
}
static void aimReport(Operation *operation, Bufferizer &b) {
  for (auto [value, kind] : scalarsOf(cast<dist::ReportOp>(operation)))
    b.aim(value, b.scalarPlace(kind), Overwrite);
}
static LogicalResult lowerReport(dist::ReportOp op, Bufferizer &b) {
  for (auto [value, kind] : scalarsOf(op))
    if (Place to = b.scalarPlace(kind); !(b.placeOf(value) == to))
      b.copy(b.placeOf(value), to, "report");
  return success();
}

void dtcc::exec::addUpdateRules(OpRules &rules) {
  auto aiming = [](OpRule rule, void (*aim)(Operation *, Bufferizer &)) {
    rule.aim = aim;
    return rule;
  };
  // Views of host memory and buckets: nobody may write their results elsewhere.
  rules[dist::InputOp::getOperationName()] = ruleOf<dist::InputOp, lowerInput>();
  rules[dist::InputOp::getOperationName()].isView = true;
  rules[dist::ViewOp::getOperationName()] = ruleOf<dist::ViewOp, lowerBucketView>();
  rules[dist::ViewOp::getOperationName()].isView = true;
  rules[dist::AccumulateOp::getOperationName()] = aiming(ruleOf<dist::AccumulateOp, lowerAccumulate>(), aimAccumulate);
  rules[dist::StoreOp::getOperationName()] = ruleOf<dist::StoreOp, lowerStore>();
  rules[dist::SumSquaresOp::getOperationName()] = ruleOf<dist::SumSquaresOp, lowerSumSquares>();
  rules[dist::GradScaleOp::getOperationName()] = ruleOf<dist::GradScaleOp, lowerGradScale>();
  rules[dist::UpdateBucketOp::getOperationName()] = ruleOf<dist::UpdateBucketOp, lowerUpdate>();
  rules[dist::GatherBucketOp::getOperationName()] = ruleOf<dist::GatherBucketOp, lowerGatherBucket>();
  rules[dist::ReportOp::getOperationName()] = aiming(ruleOf<dist::ReportOp, lowerReport>(), aimReport);
}
