//===- UpdatePhase.cpp - What every rank does at the end of a step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/partition/UpdatePhase.h"
#include "dialects/graph/Build.h"
#include "dialects/interfaces/Source.h"
#include "mlir/IR/Builders.h"
#include "passes/spmd/layout/PlanAttribute.h"
#include "passes/spmd/reshard/EmitMoves.h"

using namespace mlir;

namespace dtcc::spmd {

static Value view(OpBuilder &builder, Location loc, StringRef bucket, int64_t offset, ArrayRef<int64_t> shape,
                  Type element) {
  return ViewOp::create(builder, loc, RankedTensorType::get(shape, element),
                        FlatSymbolRefAttr::get(builder.getContext(), bucket), builder.getI64IntegerAttr(offset));
}

static Value allReduce(OpBuilder &builder, Location loc, Value x, const Axes &axes) {
  if (axes.empty())
    return x;
  return AllReduceOp::create(builder, loc, x.getType(), Reduction::Sum, x, fromAxes(builder.getContext(), axes));
}

/// Loss sum and count over the whole batch: one collective if they are partial alike.
static std::pair<Value, Value> emitLoss(OpBuilder &builder, const UpdateDescription &step) {
  Type f32 = builder.getF32Type();
  static_assert(Buckets::kLossSum + 1 == Buckets::kCount);
  if (step.lossPartial == step.countPartial && !step.lossPartial.empty()) {
    Value both = view(builder, step.loc, Buckets::kScalars, Buckets::kLossSum, {2}, f32);
    both = allReduce(builder, step.loc, both, step.lossPartial);
    Type scalar = RankedTensorType::get({}, f32);
    auto parts = graph::UnstackOp::create(builder, step.loc, TypeRange{scalar, scalar}, both, 0);
    return {parts.getResult(0), parts.getResult(1)};
  }
  Value sum = view(builder, step.loc, Buckets::kScalars, Buckets::kLossSum, {}, f32);
  Value count = view(builder, step.loc, Buckets::kScalars, Buckets::kCount, {}, f32);
  return {allReduce(builder, step.loc, sum, step.lossPartial), allReduce(builder, step.loc, count, step.countPartial)};
}

/// The summed gradients of a bucket, or of this rank's share of it.
static Value emitGradient(OpBuilder &builder, const UpdateDescription &step, const Bucket &bucket, const Mesh &mesh) {
  Location loc = step.loc;
  const StateRow &row = stateRow(bucket.key.stage);
  Axes rest;
  for (const std::string &axis : bucket.key.partial)
    if (!contains(bucket.key.flat, axis))
      rest.push_back(axis);
  // If all stages own the bucket, its gradient is summed over the pipeline axis too; see the embedding group of
  // Megatron-LM.
  ArrayRef<int64_t> owners = bucket.key.owners;
  bool allOwn = !owners.empty() && static_cast<int64_t>(owners.size()) == mesh.product({step.axis});
  if (allOwn)
    rest.insert(rest.begin(), step.axis);
  // Shares of gradients were made where the gradients were.
  Axes scatter = sharedAxes(row.master && !row.gradient, bucket.key.flat);
  if (!scatter.empty() || !rest.empty())
    // A bucket that is complete earlier is reduced during the backward pass.
    ReduceBucketOp::create(builder, ofGradient(loc), bucket.gradients, fromAxes(builder.getContext(), scatter),
                           fromAxes(builder.getContext(), rest), FlatSymbolRefAttr(), IntegerAttr());
  int64_t stored = bucket.length / mesh.product(sharedAxes(row.gradient, bucket.key.flat));
  Value gradient = view(builder, loc, bucket.gradients.getValue(), 0, {stored}, bucket.key.gradientType);
  if (!scatter.empty())
    gradient = emitMove(builder, loc, Move{Move::LocalSlice, 0, -1, scatter, Reduction::Sum}, gradient, mesh);
  if (owners.empty() || allOwn)
    return gradient;
  return AllReduceOp::create(builder, loc, gradient.getType(), Reduction::Sum, gradient,
                             fromAxes(builder.getContext(), {step.axis}), builder.getDenseI64ArrayAttr(owners));
}

/// The axes over which ranks hold different cells of the tensors of a bucket, for its update.
static Axes sharingAxes(const Bucket &bucket, const Mesh &mesh) {
  Axes axes;
  for (const MeshAxis &axis : mesh.axes)
    if (contains(bucket.key.flat, axis.name) || contains(bucket.key.sharded, axis.name))
      axes.push_back(axis.name);
  return axes;
}

/// The sum of squares over all logical elements. A rank's share counts once: it is summed
/// over the axes that share the update and those that shard the states, and over no others,
/// on which ranks hold the same. Shares with the same axes are summed together.
static Value emitSquares(OpBuilder &builder, const UpdateDescription &step,
                         ArrayRef<std::pair<const Bucket *, Value>> gradients, const Mesh &mesh) {
  Location loc = step.loc;
  SmallVector<std::pair<Axes, SmallVector<Value>>> groups;
  for (auto [bucket, gradient] : gradients) {
    if (!bucket->key.owners.empty() && bucket->key.owners.front() != step.stage)
      continue;
    Axes axes = sharingAxes(*bucket, mesh);
    auto at = llvm::find_if(groups, [&](auto &group) { return group.first == axes; });
    if (at == groups.end())
      groups.push_back({axes, {gradient}});
    else
      at->second.push_back(gradient);
  }
  Value total;
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  for (auto &[axes, values] : groups) {
    Value squares = SumSquaresOp::create(builder, loc, scalar, values);
    squares = allReduce(builder, loc, squares, axes);
    total = total ? Value(graph::AddOp::create(builder, loc, total, squares)) : squares;
  }
  if (step.axis.empty())
    return total;
  if (!total)
    total = graph::Build(builder, loc).splat(scalar, 0);
  return allReduce(builder, loc, total, {step.axis});
}

/// The cell of a state of one f32.
static Value scalarState(OpBuilder &builder, Location loc, FlatSymbolRefAttr state, const Buckets &buckets) {
  const StatePlace *place = buckets.find(state.getValue());
  return ViewOp::create(builder, loc, place->localType, buckets.all()[place->bucket].values,
                        builder.getI64IntegerAttr(place->offset));
}

/// Norm and scale of scaled gradients, and what guards the updates.
static GradScaleOp emitUnscale(OpBuilder &builder, const UpdateDescription &step, Value squares, Value count,
                               const Buckets &buckets, SmallVectorImpl<Value> &guard) {
  graph::LossScaleAttr scaling = step.lossScale;
  Type scalar = squares.getType(), flag = RankedTensorType::get({}, builder.getI32Type());
  auto scale = GradScaleOp::create(builder, step.loc, TypeRange{scalar, scalar, flag}, squares, count,
                                   scalarState(builder, step.loc, scaling.getScale(), buckets),
                                   llvm::APFloat(step.clip), llvm::APFloat(scaling.getUnit()));
  SmallVector<int64_t> offsets;
  for (FlatSymbolRefAttr state : {scaling.getScale(), scaling.getStreak(), scaling.getSkipped()})
    offsets.push_back(buckets.find(state.getValue())->offset);
  size_t bucket = buckets.find(scaling.getScale().getValue())->bucket;
  Value taken = AdjustLossScaleOp::create(
      builder, step.loc, RankedTensorType::get({}, builder.getI64Type()), buckets.all()[bucket].values,
      builder.getDenseI64ArrayAttr(offsets), scale.getFinite(), builder.getF64FloatAttr(scaling.getGrowth()),
      builder.getF64FloatAttr(scaling.getBackoff()), builder.getI64IntegerAttr(scaling.getInterval()));
  guard.assign({scale.getFinite(), taken});
  return scale;
}

void emitScore(OpBuilder &builder, const UpdateDescription &step, Value prediction, const Axes &partial) {
  auto [sum, count] = emitLoss(builder, step);
  Value whole;
  // The view leaves padded classes out.
  if (prediction)
    whole = view(builder, step.loc, Buckets::kScalars, Buckets::kPrediction,
                 cast<ShapedType>(prediction.getType()).getShape(), builder.getF32Type());
  ReportOp::create(builder, step.loc, sum, count, Value(),
                   prediction ? allReduce(builder, step.loc, whole, partial) : Value());
}

/// The updated shards come to the ranks that read them whole.
static void emitGather(OpBuilder &builder, Location loc, const Bucket &bucket) {
  if (!bucket.key.flat.empty() && !stateRow(bucket.key.stage).compute)
    GatherBucketOp::create(builder, loc, bucket.copy ? bucket.copy : bucket.values,
                           fromAxes(builder.getContext(), bucket.key.flat));
}

/// Steps along a direction that is made of whole tensors. The ranks that share the update, and those that shard the
/// states, hold parts of a tensor: they reduce norms and sums over rows and columns, and gather matrices.
static void emitTensorStep(OpBuilder &builder, Location loc, const Bucket &bucket,
                           graph::OptimizerAttrInterface optimizer, Value gradient, Value scale, ValueRange guard,
                           const Mesh &mesh) {
  MLIRContext *context = builder.getContext();
  ArrayAttr flat = fromAxes(context, bucket.key.flat);
  Type element = builder.getF32Type();
  // Directions are computed in f32.
  if (auto type = cast<RankedTensorType>(gradient.getType()); type.getElementType() != element)
    gradient = graph::CastOp::create(builder, loc, type.clone(element), gradient);
  const Axes sharing = sharingAxes(bucket, mesh);
  Value factors;
  if (optimizer.getTensorNeed() == graph::TensorNeed::Factors) {
    auto type = RankedTensorType::get({factorsIn(bucket, optimizer)}, element);
    Value sums = FactorSquaresOp::create(builder, loc, type, bucket.values, gradient, scale, flat);
    factors = allReduce(builder, loc, sums, sharing);
  }
  Value direction =
      MakeDirectionOp::create(builder, loc, gradient.getType(), bucket.values, gradient, scale,
                              builder.getArrayAttr(bucket.slots), factors, bucket.key.optimizer, flat, guard);
  Value squares;
  if (optimizer.getTensorNeed() != graph::TensorNeed::Matrices) {
    auto type = RankedTensorType::get({2 * static_cast<int64_t>(bucket.states.size())}, element);
    Value sums = TensorSquaresOp::create(builder, loc, type, bucket.values, direction, flat);
    squares = allReduce(builder, loc, sums, sharing);
  } else {
    Value whole = direction;
    for (const Axes &axes : {bucket.key.flat, bucket.key.sharded})
      if (int64_t ranks = mesh.product(axes); ranks > 1) {
        auto type = RankedTensorType::get({cast<ShapedType>(whole.getType()).getNumElements() * ranks}, element);
        whole = AllGatherOp::create(builder, loc, type, whole, 0, fromAxes(context, axes));
      }
    direction = OrthogonalizeOp::create(builder, loc, direction.getType(), bucket.values, whole,
                                        fromAxes(context, bucket.key.sharded), bucket.key.optimizer, flat);
  }
  ApplyDirectionOp::create(builder, loc, bucket.values, direction, scale, squares, bucket.key.optimizer, flat,
                           bucket.copy, guard);
}

/// One step of the optimizer on a bucket, or on this rank's shard of it.
static void emitStep(OpBuilder &builder, Location loc, const Bucket &bucket, Value gradient, Value scale,
                     ValueRange guard, const Mesh &mesh) {
  auto optimizer = dyn_cast<graph::OptimizerAttrInterface>(bucket.key.optimizer);
  if (optimizer && optimizer.getTensorNeed() != graph::TensorNeed::None)
    return emitTensorStep(builder, loc, bucket, optimizer, gradient, scale, guard, mesh);
  UpdateBucketOp::create(builder, loc, bucket.values, gradient, scale, builder.getArrayAttr(bucket.slots),
                         bucket.key.optimizer, fromAxes(builder.getContext(), bucket.key.flat), bucket.copy, guard);
}

bool wantsEarlyUpdates(ModuleOp module) {
  bool early = false;
  module.walk([&](graph::UpdateOp update) { early |= update.getEarly(); });
  return early;
}

bool updatesEarly(ModuleOp module, const Mesh &mesh) {
  PlanAttr plan = planOf(module);
  return mesh.slots() == 1 && !(plan && plan.getPipeline()) && wantsEarlyUpdates(module);
}

void nameOptimizer(ProgramOp program, graph::UpdateOp update, const Mesh &mesh) {
  if (auto optimizer = dyn_cast<graph::OptimizerAttrInterface>(update.getOptimizer());
      optimizer && (optimizer.getTensorNeed() != graph::TensorNeed::None || optimizer.getSlotCodes(0) != 0))
    program->setAttr(graph::kOptimizerAttr, optimizer);
  if (update.getAverage().convertToDouble() > 0)
    program->setAttr(graph::kAverageAttr, update.getAverageAttr());
  if (updatesEarly(program->getParentOfType<ModuleOp>(), mesh))
    program->setAttr(graph::kEarlyAttr, UnitAttr::get(program.getContext()));
}

void emitAverageExchange(OpBuilder &builder, Block &body, Location loc, StringRef phase, const Buckets &buckets) {
  if (llvm::none_of(buckets.all(), [](const Bucket &bucket) { return bucket.average; }))
    return;
  builder.setInsertionPointToEnd(&body);
  auto exchange = PhaseOp::create(builder, loc, TypeRange(), phase, 1);
  builder.setInsertionPointToEnd(&exchange.getBody().emplaceBlock());
  for (const Bucket &bucket : buckets.all())
    if (bucket.average) {
      ExchangeAverageOp::create(builder, loc, bucket.values, bucket.average,
                                fromAxes(builder.getContext(), bucket.key.flat), bucket.copy);
      emitGather(builder, loc, bucket);
    }
  YieldOp::create(builder, loc, ValueRange());
}

/// Everything that an update changes of a bucket.
static void emitBucketUpdate(OpBuilder &builder, const UpdateDescription &step, const Bucket &bucket, Value gradient,
                             Value scale, ValueRange guard, const Mesh &mesh) {
  emitStep(builder, step.loc, bucket, gradient, scale, guard, mesh);
  if (bucket.average)
    AverageBucketOp::create(builder, step.loc, bucket.values, bucket.average, builder.getF64FloatAttr(step.average),
                            fromAxes(builder.getContext(), bucket.key.flat));
  emitGather(builder, step.loc, bucket);
}

/// The buckets that train, in the order in which the backward pass of `program` completes their gradients.
static SmallVector<const Bucket *> inOrderOfGradients(Operation *program, const Buckets &buckets) {
  llvm::DenseMap<Attribute, size_t> complete;
  size_t position = 0;
  program->walk([&](AccumulateOp op) { complete[op.getBucketAttr()] = ++position; });
  SmallVector<std::pair<size_t, const Bucket *>> order;
  for (const Bucket &bucket : buckets.all())
    if (bucket.key.trainable)
      order.push_back({complete.lookup(Buckets::accumulator(bucket)), &bucket});
  llvm::sort(order);
  return llvm::to_vector(llvm::make_second_range(order));
}

/// Each update reads its own gradient, and beside it only what is known behind the forward pass, so that
/// exec-advance-updates can move it into the backward pass. The norm is for the report alone.
static Value emitEarlyUpdates(OpBuilder &builder, const UpdateDescription &step, Operation *program, Value sum,
                              Value count, const Buckets &buckets, const Mesh &mesh) {
  Value scale = MeanScaleOp::create(builder, step.loc, count.getType(), sum, count);
  SmallVector<std::pair<const Bucket *, Value>> gradients;
  for (const Bucket *bucket : inOrderOfGradients(program, buckets)) {
    gradients.push_back({bucket, emitGradient(builder, step, *bucket, mesh)});
    emitBucketUpdate(builder, step, *bucket, gradients.back().second, scale, {}, mesh);
  }
  if (gradients.empty())
    return {};
  Value squares = emitSquares(builder, step, gradients, mesh);
  return GradScaleOp::create(builder, step.loc, TypeRange{squares.getType(), squares.getType()}, squares, count,
                             Value(), llvm::APFloat(0.0), llvm::APFloat(1.0))
      .getNorm();
}

void emitUpdate(OpBuilder &builder, const UpdateDescription &step, const Buckets &buckets, const Mesh &mesh) {
  Location loc = step.loc;
  auto [sum, count] = emitLoss(builder, step);
  if (Operation *program = builder.getInsertionBlock()->getParentOp()->getParentOp();
      program->hasAttr(graph::kEarlyAttr)) {
    Value norm = emitEarlyUpdates(builder, step, program, sum, count, buckets, mesh);
    ReportOp::create(builder, loc, sum, count, norm, Value());
    return;
  }
  SmallVector<std::pair<const Bucket *, Value>> gradients;
  for (const Bucket &bucket : buckets.all())
    if (bucket.key.trainable)
      gradients.push_back({&bucket, emitGradient(builder, step, bucket, mesh)});
  Value norm;
  if (!gradients.empty() || (step.optimizer && !step.axis.empty())) {
    Value squares = emitSquares(builder, step, gradients, mesh);
    Type scalar = squares.getType();
    SmallVector<Value> guard;
    auto scale = step.lossScale ? emitUnscale(builder, step, squares, count, buckets, guard)
                                : GradScaleOp::create(builder, loc, TypeRange{scalar, scalar}, squares, count, Value(),
                                                      llvm::APFloat(step.clip), llvm::APFloat(1.0));
    norm = scale.getNorm();
    for (auto [bucket, gradient] : gradients)
      emitBucketUpdate(builder, step, *bucket, gradient, scale.getScale(), guard, mesh);
  }
  ReportOp::create(builder, loc, sum, count, norm, Value());
}

} // namespace dtcc::spmd
