//===- Buckets.cpp - Which bucket every state lives in, and where
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/partition/Buckets.h"
#include "dialects/graph/StateUpdate.h"
#include "dialects/interfaces/Source.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/spmd/partition/StageMap.h"
#include "runtime/abi/BlockCodes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dtcc::spmd {

/// `axes` in the order of the mesh, without its time axes.
static Axes meshOrder(const Mesh &mesh, const Axes &axes) {
  Axes result;
  for (const MeshAxis &axis : mesh.axes)
    if (!axis.time && contains(axes, axis.name))
      result.push_back(axis.name);
  return result;
}

/// Whether the optimizer of a bucket holds its slots as 8-bit codes.
static bool hasCodes(const BucketKey &key) {
  auto optimizer = dyn_cast_or_null<graph::OptimizerAttrInterface>(key.optimizer);
  return optimizer && optimizer.getSlotCodes(0) != 0;
}

/// How many slots the optimizer of a bucket has.
static int64_t slotsOf(const BucketKey &key) {
  auto optimizer = dyn_cast_or_null<graph::OptimizerAttrInterface>(key.optimizer);
  return optimizer ? optimizer.getSlotNames().size() : 0;
}

/// States start at multiples of this, and shards divide by it: a block of codes belongs to one shard of one tensor.
static int64_t alignmentOf(const BucketKey &key) { return hasCodes(key) ? codeBlock : kBucketAlignment; }

FailureOr<Buckets> Buckets::plan(ModuleOp module, const Mesh &mesh, const llvm::StringMap<GradientPlace> &gradients,
                                 Attribute optimizer, const StageMap *stages, int64_t stage) {
  Buckets result;
  for (auto state : module.getOps<graph::StateOp>()) {
    ArrayRef<int64_t> owners = stages ? stages->ownersOf(state.getSymName()) : ArrayRef<int64_t>();
    // The first stage keeps a state that no stage reads.
    if (stages && !llvm::is_contained(owners, stage) && !(owners.empty() && stage == 0))
      continue;
    auto layoutAttr = state->getAttrOfType<TypeAttr>(kLayoutAttr);
    if (!layoutAttr)
      return state.emitError("has no spmd.layout: run spmd-apply-plan first");
    auto type = cast<TensorType>(layoutAttr.getValue());
    RankedTensorType local = localType(type, mesh);
    if (!local)
      return state.emitError("layout must divide by the mesh, got: ") << type;
    BucketKey key;
    Axes sharded;
    for (ArrayAttr axes : type.getAxes())
      llvm::append_range(sharded, toAxes(axes));
    key.sharded = meshOrder(mesh, sharded);
    key.elementType = type.getElementType();
    auto gradient = gradients.find(state.getSymName());
    key.trainable = gradient != gradients.end();
    if (auto known = dyn_cast_or_null<graph::OptimizerAttrInterface>(optimizer); known && key.trainable)
      key.optimizer = graph::updateOf(state, known).optimizer;
    key.computeType = key.elementType;
    if (auto compute = state->getAttrOfType<TypeAttr>(kComputeAttr))
      key.computeType = compute.getValue();
    key.gradientType = key.elementType;
    if (auto narrow = state->getAttrOfType<TypeAttr>(kGradientAttr); narrow && key.trainable)
      key.gradientType = narrow.getValue();
    // Nobody updates a frozen parameter: it needs no master.
    if (!key.trainable)
      key.elementType = key.computeType;
    key.offloaded = key.trainable && state->hasAttr(kOffloadAttr);
    key.role = state.getRole();
    if (owners.size() > 1)
      key.owners = owners.vec();
    if (key.trainable)
      key.partial = meshOrder(mesh, gradient->second.layout.partial);
    if (auto flat = state->getAttrOfType<ArrayAttr>(kFlatAttr))
      for (const std::string &axis : toAxes(flat))
        // Ranks that make the same gradient are no group that could share a sum.
        if (!key.trainable || contains(key.partial, axis))
          key.flat.push_back(axis);
    if (!key.flat.empty())
      key.stage =
          state->getAttrOfType<IntegerAttr>(kZeroAttr) ? state->getAttrOfType<IntegerAttr>(kZeroAttr).getInt() : 1;
    if (key.trainable && stateRow(key.stage).gradient) {
      key.makers.assign(gradient->second.phases.begin(), gradient->second.phases.end());
      // All stages that hold a state have the same buckets of it.
      if (!key.owners.empty())
        key.alone = state.getSymName().str();
    }
    if (auto unit = state->getAttrOfType<StringAttr>(kUnitAttr))
      key.unit = unit.str();
    auto at = llvm::find_if(result.buckets, [&](const Bucket &bucket) { return bucket.key == key; });
    if (at == result.buckets.end()) {
      std::string number = std::to_string(result.buckets.size());
      if (stages)
        number = std::to_string(stage) + "." + number;
      result.buckets.push_back({key, number, 0, {}, {}, {}, {}, {}, {}, {}});
      at = std::prev(result.buckets.end());
    }
    at->states.push_back(state);
    result.places[state.getSymName()] = {static_cast<size_t>(at - result.buckets.begin()), at->length, local};
    at->length = llvm::alignTo(at->length + local.getNumElements(), alignmentOf(at->key));
  }
  for (Bucket &bucket : result.buckets)
    bucket.length =
        llvm::alignTo(std::max<int64_t>(bucket.length, 1), alignmentOf(bucket.key) * mesh.product(bucket.key.flat));
  return result;
}

int64_t factorsIn(const Bucket &bucket, graph::OptimizerAttrInterface optimizer) {
  int64_t count = 0;
  for (graph::StateOp state : bucket.states)
    for (const graph::TensorFactor &factor : optimizer.getFactors(state.getSavedShape()))
      count += llvm::product_of(factor.shape);
  return count;
}

/// Declares the factors that the optimizer of a bucket keeps of its tensors; null if it keeps none.
static FlatSymbolRefAttr emitFactors(OpBuilder &builder, Location loc, const Bucket &bucket,
                                     graph::OptimizerAttrInterface optimizer) {
  int64_t length = factorsIn(bucket, optimizer);
  if (length == 0)
    return {};
  auto role = BucketRoleAttr::get(builder.getContext(), BucketRole::Factors);
  auto op = BucketOp::create(builder, loc, role, builder.getStringAttr("factors." + bucket.number),
                             builder.getI64IntegerAttr(length), TypeAttr::get(builder.getF32Type()), bucket.values,
                             IntegerAttr(), builder.getArrayAttr({}), builder.getArrayAttr({}), UnitAttr());
  return FlatSymbolRefAttr::get(op.getSymNameAttr());
}

void Buckets::emit(OpBuilder &builder, Location loc, bool averages, int64_t predicted) {
  auto make = [&](BucketRole role, const Twine &name, const Bucket &bucket, FlatSymbolRefAttr of,
                  std::optional<int64_t> slot, const Axes &flat, bool host = false) {
    Type type = role == BucketRole::Compute                                     ? bucket.key.computeType
                : role == BucketRole::Gradient || role == BucketRole::Transient ? bucket.key.gradientType
                                                                                : bucket.key.elementType;
    int64_t length = bucket.length;
    if (slot && *slot < slotsOf(bucket.key) && hasCodes(bucket.key)) {
      type = builder.getI8Type();
      length = codedBytes(length);
    }
    auto op = BucketOp::create(builder, loc, BucketRoleAttr::get(builder.getContext(), role),
                               builder.getStringAttr(name), builder.getI64IntegerAttr(length), TypeAttr::get(type), of,
                               slot ? builder.getI64IntegerAttr(*slot) : IntegerAttr(),
                               fromAxes(builder.getContext(), bucket.key.sharded), fromAxes(builder.getContext(), flat),
                               host ? builder.getUnitAttr() : UnitAttr());
    if (!bucket.key.unit.empty())
      op->setAttr("unit", builder.getStringAttr(bucket.key.unit));
    return FlatSymbolRefAttr::get(op.getSymNameAttr());
  };
  for (Bucket &bucket : buckets) {
    const StateRow &row = stateRow(bucket.key.stage);
    bool parameters = bucket.key.role == graph::StateRole::parameter, narrow = bucket.key.isNarrow();
    // With offloaded masters and a narrower compute type, readers see a copy in every ZeRO stage, and the update alone
    // touches the masters.
    bool hostsMasters = bucket.key.offloaded && narrow;
    bucket.values = make(parameters ? BucketRole::Parameter : BucketRole::Buffer,
                         (parameters ? "params." : "buffers.") + bucket.number, bucket, {}, {},
                         sharedAxes(row.sharesMasters(narrow), bucket.key.flat), hostsMasters);
    if (row.keepsCopy(narrow) || hostsMasters)
      bucket.copy = make(BucketRole::Compute, "compute." + bucket.number, bucket, bucket.values, {},
                         sharedAxes(row.compute, bucket.key.flat));
    for (graph::StateOp state : bucket.states) {
      addBucket(state, bucket.values, places[state.getSymName()].offset);
    }
    if (!bucket.key.trainable)
      continue;
    bucket.gradients = make(BucketRole::Gradient, "grads." + bucket.number, bucket, bucket.values, {},
                            sharedAxes(row.gradient, bucket.key.flat));
    if (row.gradient)
      bucket.work = make(BucketRole::Transient, "work." + bucket.number, bucket, bucket.values, {}, {});
    auto makeSlot = [&](int64_t i) {
      return make(BucketRole::Slot, "slots." + bucket.number + "." + Twine(i), bucket, bucket.values, i,
                  sharedAxes(row.slots, bucket.key.flat), bucket.key.offloaded);
    };
    auto optimizer = dyn_cast_or_null<graph::OptimizerAttrInterface>(bucket.key.optimizer);
    int64_t slots = slotsOf(bucket.key);
    for (int64_t i = 0; i < slots; ++i)
      bucket.slots.push_back(makeSlot(i));
    if (FlatSymbolRefAttr factors = optimizer ? emitFactors(builder, loc, bucket, optimizer) : FlatSymbolRefAttr())
      bucket.slots.push_back(factors);
    // The average is placed as the optimizer's own slots are.
    if (averages)
      bucket.average = makeSlot(slots);
  }
  // A stage of a pipeline before has declared it; each has its own storage.
  if (SymbolTable::lookupNearestSymbolFrom(builder.getInsertionBlock()->getParentOp(), builder.getStringAttr(kScalars)))
    return;
  BucketOp::create(builder, loc, BucketRoleAttr::get(builder.getContext(), BucketRole::Scalar),
                   builder.getStringAttr(kScalars),
                   builder.getI64IntegerAttr(llvm::alignTo(kPrediction + predicted, kBucketAlignment)),
                   TypeAttr::get(builder.getF32Type()), FlatSymbolRefAttr(), IntegerAttr(), builder.getArrayAttr({}),
                   builder.getArrayAttr({}));
}

Value Buckets::read(OpBuilder &builder, Location loc, const StatePlace &place) const {
  const Bucket &bucket = buckets[place.bucket];
  IntegerAttr offset = builder.getI64IntegerAttr(place.offset);
  auto type = RankedTensorType::get(place.localType.getShape(), bucket.key.computeType);
  if (!stateRow(bucket.key.stage).compute)
    return ViewOp::create(builder, loc, type, bucket.copy ? bucket.copy : bucket.values, offset);
  Value unit =
      GatherUnitOp::create(builder, loc, RankedTensorType::get({bucket.length}, bucket.key.computeType),
                           bucket.copy ? bucket.copy : bucket.values, fromAxes(builder.getContext(), bucket.key.flat));
  return UnitViewOp::create(builder, loc, type, unit, offset);
}

void Buckets::emitShares(OpBuilder &builder, Location loc, Block &phase) const {
  llvm::DenseSet<Attribute> accumulated;
  for (auto accumulate : phase.getOps<AccumulateOp>())
    accumulated.insert(accumulate.getBucketAttr());
  for (const Bucket &bucket : buckets)
    if (bucket.work && accumulated.contains(bucket.work))
      ReduceBucketOp::create(builder, ofGradient(loc), bucket.work, fromAxes(builder.getContext(), bucket.key.flat),
                             builder.getArrayAttr({}), bucket.gradients, IntegerAttr());
}

void Buckets::clearGradient(OpBuilder &builder, Location loc, StringRef state) const {
  const StatePlace *place = find(state);
  auto type = RankedTensorType::get(place->localType.getShape(), builder.getF32Type());
  auto zeros = graph::ConstantOp::create(builder, loc, type, SplatElementsAttr::get(type, builder.getF32FloatAttr(0)));
  AccumulateOp::create(builder, loc, zeros, accumulator(buckets[place->bucket]),
                       builder.getI64IntegerAttr(place->offset));
}

const StatePlace *Buckets::find(StringRef state) const {
  auto at = places.find(state);
  return at == places.end() ? nullptr : &at->second;
}

} // namespace dtcc::spmd
