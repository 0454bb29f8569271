//===- UpdateRules.cpp - Bufferization of inputs, buckets and the update -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/StateUpdate.h"
#include "passes/exec/bufferize/OpRules.h"
#include "passes/exec/commands/OrthogonalWork.h"
#include "runtime/abi/dtcc_rt.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

static LogicalResult lowerInput(spmd::InputOp op, Bufferizer &b) {
  b.setPlace(op.getY(), b.storage.inputPlace(op));
  return success();
}

/// The range of a bucket that a view or an accumulation names.
static Place rangeOf(FlatSymbolRefAttr symbol, int64_t offset, ShapedType type, Bufferizer &b) {
  Place storage = b.storage.bucket(symbol), range = Place::dense(storage.buffer, type);
  range.offset = offset * getElementBytes(type.getElementType());
  return range;
}

static LogicalResult lowerBucketView(spmd::ViewOp op, Bufferizer &b) {
  fillGaps(op.getBucketAttr(), b);
  b.setPlace(op.getY(), rangeOf(op.getBucketAttr(), op.getOffset(), op.getType(), b));
  return success();
}

static Bufferizer::Destination destinationOf(spmd::AccumulateOp op, Bufferizer &b) {
  spmd::BucketOp bucket = b.storage.bucketOp(op.getBucketAttr());
  bool repeated =
      op->getParentOfType<spmd::PhaseOp>().getRepeat() > 1 && bucket.getRole() != spmd::BucketRole::Transient;
  // A value of a wider type is rounded to that of the bucket.
  ShapedType stored = cast<ShapedType>(op.getX().getType()).clone(bucket.getElementType());
  return {rangeOf(op.getBucketAttr(), op.getOffset(), stored, b), op.getAgain() ? Add
                                                                  : repeated    ? AddUnlessFirstSlot
                                                                                : Overwrite};
}
/// Whether what an op makes may lie where its operands do: views, and joins of parts.
static bool mayShareMemory(Operation *producer) {
  const OpRule *rule = findRule(producer);
  return rule && (rule->isView || rule->aim);
}

/// Whether the producer of `value` stands after `op`, and so do those of the operands that may be made in its place.
static bool isMadeBehind(Value value, Operation *op) {
  Operation *producer = value.getDefiningOp();
  if (!producer || producer->getBlock() != op->getBlock() || !op->isBeforeInBlock(producer))
    return false;
  return !mayShareMemory(producer) ||
         llvm::all_of(producer->getOperands(), [&](Value of) { return isMadeBehind(of, op); });
}

/// A kernel may have been put before what was added to the bucket before it: it cannot add there itself.
static bool comesInTurn(spmd::AccumulateOp op) {
  if (!op.getAgain())
    return true;
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
    if (auto other = dyn_cast<spmd::AccumulateOp>(before);
        other && other.getBucketAttr() == op.getBucketAttr() && other.getOffset() == op.getOffset())
      return isMadeBehind(op.getX(), other);
  return true;
}

/// Whether more is added behind `op` to what it wrote.
static bool isAddedTo(spmd::AccumulateOp op) {
  for (Operation *behind = op->getNextNode(); behind; behind = behind->getNextNode())
    if (auto other = dyn_cast<spmd::AccumulateOp>(behind);
        other && other.getBucketAttr() == op.getBucketAttr() && other.getOffset() == op.getOffset())
      return true;
  return false;
}

/// Whether `value` has one reader, and so has each that is in its place.
static bool isReadOnce(Value value) {
  if (!value.hasOneUse())
    return false;
  Operation *producer = value.getDefiningOp();
  return !producer || !mayShareMemory(producer) || llvm::all_of(producer->getOperands(), isReadOnce);
}

static void aimAccumulate(Operation *operation, Bufferizer &b) {
  auto op = cast<spmd::AccumulateOp>(operation);
  if (!comesInTurn(op))
    return;
  // A second reader of a value whose memory is added to would read the sum: a matrix plus its transpose has such terms.
  if (isAddedTo(op) && !isReadOnce(op.getX()))
    return;
  auto destination = destinationOf(op, b);
  b.aim(op.getX(), destination.place, destination.accumulate);
}
static LogicalResult lowerAccumulate(spmd::AccumulateOp op, Bufferizer &b) {
  auto destination = destinationOf(op, b);
  if (auto aimed = b.destinationOf(op.getX()); aimed && aimed->place == destination.place)
    return success();
  return b.store(b.placeOf(op.getX()), destination, op.getLoc());
}

/// A copy: a kernel that read the old value while it wrote the new one here would race with itself.
static LogicalResult lowerStore(spmd::StoreOp op, Bufferizer &b) {
  b.copy(b.placeOf(op.getX()), rangeOf(op.getBucketAttr(), op.getOffset(), cast<ShapedType>(op.getX().getType()), b),
         "store");
  return success();
}

static LogicalResult lowerSumSquares(spmd::SumSquaresOp op, Bufferizer &b) {
  Place out = b.place(op.getY());
  for (auto [i, x] : llvm::enumerate(op.getXs())) {
    Place from = *b.dense(b.placeOf(x), "dense").reshaped({cast<ShapedType>(x.getType()).getNumElements()});
    b.library(op, "sum_squares", b.view(from), b.view(out), {b.builder().getI64IntegerAttr(i ? Add : Overwrite)},
              /*updates=*/i != 0);
  }
  return success();
}

static LogicalResult lowerGradScale(spmd::GradScaleOp op, Bufferizer &b) {
  Place norm = b.place(op.getNorm()), scale = b.place(op.getScale());
  if (Value lossScale = op.getLossScale()) {
    Place finite = b.place(op.getFinite());
    b.library(op, "grad_unscale",
              {b.view(b.placeOf(op.getSquares())), b.view(b.placeOf(op.getCount())), b.view(b.placeOf(lossScale))},
              {b.view(norm), b.view(scale), b.view(finite)},
              {b.builder().getF64FloatAttr(op.getClip().convertToDouble()),
               b.builder().getF64FloatAttr(op.getUnit().convertToDouble())});
    return success();
  }
  b.library(op, "grad_scale", {b.view(b.placeOf(op.getSquares())), b.view(b.placeOf(op.getCount()))},
            {b.view(norm), b.view(scale)}, {b.builder().getF64FloatAttr(op.getClip().convertToDouble())});
  return success();
}

static LogicalResult lowerMeanScale(spmd::MeanScaleOp op, Bufferizer &b) {
  b.library(op, "mean_scale", {b.view(b.placeOf(op.getLossSum())), b.view(b.placeOf(op.getCount()))},
            b.view(b.place(op.getScale())), {});
  return success();
}

/// A view of this rank's share of a bucket. A bucket that itself is flat holds nothing but the share.
static Value shareOfBucket(FlatSymbolRefAttr bucket, ArrayAttr flat, Bufferizer &b) {
  Place storage = b.storage.bucket(bucket);
  return b.view(b.storage.bucketOp(bucket).getFlat().empty() ? shareOf(storage, flat, b) : storage);
}

static Value denseView(Value value, Bufferizer &b) {
  return b.view(*b.dense(b.placeOf(value), "dense").reshaped({cast<ShapedType>(value.getType()).getNumElements()}));
}

namespace {
/// A library op of a step on this rank's share of a bucket.
struct StepCommand {
  SmallVector<Value> ins, outs;
  SmallVector<Attribute> attributes;
};
} // namespace

/// The command of `op` with the operands that all of them begin with: the gradient or the direction `vector`, the
/// scale, the rate and the number of the step. A guarded step has the number of the steps taken, not that of the host.
template <typename StepOp> static StepCommand beginCommand(StepOp op, Value vector, Bufferizer &b) {
  ValueRange guard = op.getGuard();
  Place step = guard.empty() ? b.storage.scalarPlace(ScalarKind::step) : b.placeOf(guard[1]);
  return {{denseView(vector, b), b.view(b.placeOf(op.getScale())), b.view(b.storage.scalarPlace(ScalarKind::lr)),
           b.view(step)},
          {},
          {op.getBucketAttr(), b.communicators.coordinate(op.getFlat())}};
}

static void addSlots(StepCommand &command, ArrayAttr slots, Bufferizer &b) {
  for (Attribute slot : slots)
    command.outs.push_back(b.view(b.storage.bucket(cast<FlatSymbolRefAttr>(slot))));
}

/// Emits the command. A guarded one runs only where the gradients are finite. `updates`: it reads nothing but its
/// inputs and what it overwrites.
template <typename StepOp>
static LogicalResult emitCommand(StepOp op, StringRef library, StepCommand &command, bool updates, Bufferizer &b) {
  if constexpr (requires { op.getCopyAttr(); })
    if (op.getCopy())
      command.outs.push_back(shareOfBucket(op.getCopyAttr(), op.getFlat(), b));
  bool guarded = !op.getGuard().empty();
  if (guarded)
    command.ins.push_back(b.view(b.placeOf(op.getGuard()[0])));
  b.library(op, library, command.ins, command.outs, command.attributes, updates).setPredicated(guarded);
  return success();
}

static FailureOr<graph::OptimizerAttrInterface> optimizerOf(Operation *op, Attribute attribute) {
  auto optimizer = dyn_cast<graph::OptimizerAttrInterface>(attribute);
  if (!optimizer)
    return op->emitOpError("must have an optimizer of the graph dialect, got: ") << attribute;
  return optimizer;
}

static LogicalResult lowerUpdate(spmd::UpdateBucketOp op, Bufferizer &b) {
  FailureOr<graph::OptimizerAttrInterface> optimizer = optimizerOf(op, op.getOptimizer());
  if (failed(optimizer))
    return failure();
  StepCommand command = beginCommand(op, op.getGrad(), b);
  command.outs.push_back(shareOfBucket(op.getBucketAttr(), op.getFlat(), b));
  addSlots(command, op.getSlots(), b);
  llvm::append_range(command.attributes, optimizer->getLibraryParameters(b.builder()));
  return emitCommand(op, optimizer->getLibraryOp(), command, /*updates=*/true, b);
}

static LogicalResult lowerMakeDirection(spmd::MakeDirectionOp op, Bufferizer &b) {
  FailureOr<graph::OptimizerAttrInterface> optimizer = optimizerOf(op, op.getOptimizer());
  if (failed(optimizer))
    return failure();
  StepCommand command = beginCommand(op, op.getGrad(), b);
  // A direction that is made of sums over rows and columns does not depend on the parameters.
  command.ins.push_back(op.getSquares() ? denseView(op.getSquares(), b)
                                        : shareOfBucket(op.getBucketAttr(), op.getFlat(), b));
  addSlots(command, op.getSlots(), b);
  command.outs.push_back(b.view(b.place(op.getDirection())));
  llvm::append_range(command.attributes, optimizer->getLibraryParameters(b.builder()));
  // The command reads the slots too, which hold what they held before the step; the direction nobody has written.
  return emitCommand(op, optimizer->getLibraryOp(), command, /*updates=*/false, b);
}

static LogicalResult lowerFactorSquares(spmd::FactorSquaresOp op, Bufferizer &b) {
  b.library(op, "factor_squares", {denseView(op.getGrad(), b), b.view(b.placeOf(op.getScale()))},
            b.view(b.place(op.getSquares())), {op.getBucketAttr(), b.communicators.coordinate(op.getFlat())});
  return success();
}

static LogicalResult lowerTensorSquares(spmd::TensorSquaresOp op, Bufferizer &b) {
  b.library(op, "tensor_squares", {shareOfBucket(op.getBucketAttr(), op.getFlat(), b), denseView(op.getDirection(), b)},
            b.view(b.place(op.getSquares())), {op.getBucketAttr(), b.communicators.coordinate(op.getFlat())});
  return success();
}

static LogicalResult lowerOrthogonalize(spmd::OrthogonalizeOp op, Bufferizer &b) {
  FailureOr<graph::OptimizerAttrInterface> optimizer = optimizerOf(op, op.getOptimizer());
  if (failed(optimizer))
    return failure();
  SmallVector<Attribute> all{op.getBucketAttr(), b.communicators.coordinate(op.getFlat()),
                             b.communicators.coordinate(op.getSharded())};
  llvm::append_range(all, optimizer->getTensorParameters(b.builder()));
  // The workspace is that of processors. For GPUs, exec-reserve-workspace plans another one.
  LibraryOp command =
      b.library(op, "orthogonalize", denseView(op.getWhole(), b), b.view(b.place(op.getDirection())), all,
                /*updates=*/false, orthogonalBytes(op, op.getBucketAttr(), OrthogonalizeOn::Processor));
  const int64_t share = cast<ShapedType>(op.getDirection().getType()).getNumElements();
  const auto steps = double(graph::orthogonalSteps(*optimizer));
  command.setFlops(llvm::APFloat(steps * orthogonalWork(op, op.getBucketAttr(), share).flopsOfStep));
  return success();
}

static LogicalResult lowerApplyDirection(spmd::ApplyDirectionOp op, Bufferizer &b) {
  FailureOr<graph::OptimizerAttrInterface> optimizer = optimizerOf(op, op.getOptimizer());
  if (failed(optimizer))
    return failure();
  StepCommand command = beginCommand(op, op.getDirection(), b);
  if (op.getSquares())
    command.ins.push_back(denseView(op.getSquares(), b));
  command.outs.push_back(shareOfBucket(op.getBucketAttr(), op.getFlat(), b));
  Builder builder = b.builder();
  command.attributes.push_back(builder.getI64IntegerAttr(!op.getSquares() ? DTCC_DIRECTION_PLAIN
                                                         : optimizer->getTensorNeed() == graph::TensorNeed::Factors
                                                             ? DTCC_DIRECTION_BY_RMS
                                                             : DTCC_DIRECTION_BY_TRUST));
  if (op.getSquares())
    llvm::append_range(command.attributes, optimizer->getTensorParameters(builder));
  else
    command.attributes.append(2, builder.getI64IntegerAttr(0));
  return emitCommand(op, "apply_direction", command, /*updates=*/true, b);
}

static LogicalResult lowerAverage(spmd::AverageBucketOp op, Bufferizer &b) {
  b.library(op, "average",
            {shareOfBucket(op.getBucketAttr(), op.getFlat(), b), b.view(b.storage.scalarPlace(ScalarKind::step))},
            b.view(b.storage.bucket(op.getAverageAttr())),
            {b.builder().getF64FloatAttr(op.getDecay().convertToDouble())}, /*updates=*/true);
  return success();
}

static LogicalResult lowerExchange(spmd::ExchangeAverageOp op, Bufferizer &b) {
  SmallVector<Value> outs{shareOfBucket(op.getBucketAttr(), op.getFlat(), b),
                          b.view(b.storage.bucket(op.getAverageAttr()))};
  if (op.getCopy())
    outs.push_back(shareOfBucket(op.getCopyAttr(), op.getFlat(), b));
  b.library(op, "exchange", {}, outs, {}, /*updates=*/true);
  return success();
}

static LogicalResult lowerAdjustLossScale(spmd::AdjustLossScaleOp op, Bufferizer &b) {
  SmallVector<Place> cells;
  SmallVector<Value> outs;
  for (int64_t offset : op.getOffsets()) {
    cells.push_back(rangeOf(op.getBucketAttr(), offset, RankedTensorType::get({}, b.builder().getF32Type()), b));
    outs.push_back(b.view(cells.back()));
  }
  // The host tells of the scale and of the steps that were skipped.
  b.storage.showScalar(ScalarKind::loss_scale, cells[0]);
  b.storage.showScalar(ScalarKind::skipped, cells[2]);
  Place taken = b.place(op.getTaken());
  outs.push_back(b.view(taken));
  b.library(op, "loss_scale_adjust",
            {b.view(b.placeOf(op.getFinite())), b.view(b.storage.scalarPlace(ScalarKind::step))}, outs,
            {b.builder().getF64FloatAttr(op.getGrowth().convertToDouble()),
             b.builder().getF64FloatAttr(op.getBackoff().convertToDouble()),
             b.builder().getI64IntegerAttr(op.getInterval())},
            // The command reads the scale's cells too, which hold the values from before the step. No command has
            // written `taken`.
            /*updates=*/false);
  return success();
}

static LogicalResult lowerGatherBucket(spmd::GatherBucketOp op, Bufferizer &b) {
  Place whole = b.storage.bucket(op.getBucketAttr());
  Place share = shareOf(whole, op.getAxes(), b);
  b.collective(CollectiveKind::AllGather, Reduction::Sum, op.getAxes(), share, whole).setOfParameters(true);
  return success();
}

static SmallVector<std::pair<Value, ScalarKind>> scalarsOf(spmd::ReportOp op) {
  SmallVector<std::pair<Value, ScalarKind>> scalars{{op.getLossSum(), ScalarKind::loss_sum},
                                                    {op.getCount(), ScalarKind::loss_count}};
  if (op.getGradNorm())
    scalars.push_back({op.getGradNorm(), ScalarKind::grad_norm});
  if (op.getPrediction())
    scalars.push_back({op.getPrediction(), ScalarKind::prediction});
  return scalars;
}
static Place placeOfScalar(Value value, ScalarKind kind, Bufferizer &b) {
  return b.storage.scalarPlace(kind, cast<ShapedType>(value.getType()).getShape());
}
static void aimReport(Operation *operation, Bufferizer &b) {
  for (auto [value, kind] : scalarsOf(cast<spmd::ReportOp>(operation)))
    b.aim(value, placeOfScalar(value, kind, b), Overwrite);
}
static LogicalResult lowerReport(spmd::ReportOp op, Bufferizer &b) {
  for (auto [value, kind] : scalarsOf(op))
    if (Place to = placeOfScalar(value, kind, b); !(b.placeOf(value) == to))
      b.copy(b.placeOf(value), to, "report");
  return success();
}

void dtcc::exec::addUpdateRules(OpRules &rules) {
  auto aiming = [](OpRule rule, void (*aim)(Operation *, Bufferizer &)) {
    rule.aim = aim;
    return rule;
  };
  // Views of host memory and buckets: nobody may write their results elsewhere.
  rules[spmd::InputOp::getOperationName()] = ruleOf<spmd::InputOp, lowerInput>();
  rules[spmd::InputOp::getOperationName()].isView = true;
  rules[spmd::ViewOp::getOperationName()] = ruleOf<spmd::ViewOp, lowerBucketView>();
  rules[spmd::ViewOp::getOperationName()].isView = true;
  rules[spmd::AccumulateOp::getOperationName()] = aiming(ruleOf<spmd::AccumulateOp, lowerAccumulate>(), aimAccumulate);
  rules[spmd::StoreOp::getOperationName()] = ruleOf<spmd::StoreOp, lowerStore>();
  rules[spmd::SumSquaresOp::getOperationName()] = ruleOf<spmd::SumSquaresOp, lowerSumSquares>();
  rules[spmd::GradScaleOp::getOperationName()] = ruleOf<spmd::GradScaleOp, lowerGradScale>();
  rules[spmd::MeanScaleOp::getOperationName()] = ruleOf<spmd::MeanScaleOp, lowerMeanScale>();
  rules[spmd::UpdateBucketOp::getOperationName()] = ruleOf<spmd::UpdateBucketOp, lowerUpdate>();
  rules[spmd::FactorSquaresOp::getOperationName()] = ruleOf<spmd::FactorSquaresOp, lowerFactorSquares>();
  rules[spmd::MakeDirectionOp::getOperationName()] = ruleOf<spmd::MakeDirectionOp, lowerMakeDirection>();
  rules[spmd::TensorSquaresOp::getOperationName()] = ruleOf<spmd::TensorSquaresOp, lowerTensorSquares>();
  rules[spmd::OrthogonalizeOp::getOperationName()] = ruleOf<spmd::OrthogonalizeOp, lowerOrthogonalize>();
  rules[spmd::ApplyDirectionOp::getOperationName()] = ruleOf<spmd::ApplyDirectionOp, lowerApplyDirection>();
  rules[spmd::AverageBucketOp::getOperationName()] = ruleOf<spmd::AverageBucketOp, lowerAverage>();
  rules[spmd::ExchangeAverageOp::getOperationName()] = ruleOf<spmd::ExchangeAverageOp, lowerExchange>();
  rules[spmd::AdjustLossScaleOp::getOperationName()] = ruleOf<spmd::AdjustLossScaleOp, lowerAdjustLossScale>();
  rules[spmd::GatherBucketOp::getOperationName()] = ruleOf<spmd::GatherBucketOp, lowerGatherBucket>();
  rules[spmd::ReportOp::getOperationName()] = aiming(ruleOf<spmd::ReportOp, lowerReport>(), aimReport);
}
