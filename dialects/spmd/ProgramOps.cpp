//===- ProgramOps.cpp - The program of a rank: storage and phases
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/spmd/Spmd.h"
#include "mlir/IR/Builders.h"
#include "runtime/abi/BlockCodes.h"

#define GET_OP_CLASSES
#include "dialects/spmd/SpmdOps.cpp.inc"

using namespace mlir;

namespace dtcc::spmd {

LogicalResult BucketOp::verify() {
  if (getLength() < 1)
    return emitOpError("length must be at least 1, got: ") << getLength();
  bool derived = llvm::is_contained(
      {BucketRole::Gradient, BucketRole::Slot, BucketRole::Transient, BucketRole::Compute, BucketRole::Factors},
      getRole());
  if (derived != getOf().has_value())
    return emitOpError(
        derived ? "needs the parameter bucket it is `of`"
                : "has no parameter bucket: `of` is for gradients, slots, factors, transient and compute buckets");
  if ((getRole() == BucketRole::Slot) != getSlot().has_value())
    return emitOpError("slot buckets have a slot number, and only they");
  if (getHost() && getRole() != BucketRole::Slot && getRole() != BucketRole::Parameter)
    return emitOpError("must hold masters or slots to lie with the host, got: ") << stringifyBucketRole(getRole());
  return success();
}

/// Elements that a bucket has for so many cells of its parameters: bytes, if it is a slot of 8-bit codes.
static int64_t lengthFor(BucketOp bucket, int64_t cells) {
  return bucket.getRole() == BucketRole::Slot && bucket.getElementType().isInteger(8) ? codedBytes(cells) : cells;
}

LogicalResult BucketOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getOf())
    return success();
  auto parameters = symbols.lookupNearestSymbolFrom<BucketOp>(*this, getOfAttr());
  if (!parameters || parameters.getRole() != BucketRole::Parameter)
    return emitOpError("must be of a parameter bucket, got: ") << getOfAttr();
  // Factors are a number for each row and column.
  if (int64_t wanted = lengthFor(*this, parameters.getLength());
      getRole() != BucketRole::Factors && wanted != static_cast<int64_t>(getLength()))
    return emitOpError("length must be that of its parameters, ") << wanted << ", got: " << getLength();
  return success();
}

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<MeshOp>(*this, getMeshAttr()))
    return emitOpError("needs an spmd.mesh, got: ") << getMeshAttr();
  if (!getStage())
    return success();
  Mesh mesh = toMesh(symbols.lookupNearestSymbolFrom<MeshOp>(*this, getMeshAttr()));
  const MeshAxis *axis = mesh.find(getAxis()->str());
  if (!axis || axis->time)
    return emitOpError("stages must lie on a rank axis of the mesh, got: ") << *getAxis();
  int64_t stage = *getStage();
  if (stage < 0 || stage >= axis->size)
    return emitOpError("stage must be one of the ") << axis->size << " of axis " << axis->name << ", got: " << stage;
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  for (Operation &op : *getBody().begin())
    if (!isa<PhaseOp>(op))
      return op.emitOpError("must not stand in an spmd.program outside of a phase");
  if (!getActions())
    return success();
  SmallVector<std::pair<StringRef, int64_t>> phases;
  for (auto phase : getBody().getOps<PhaseOp>())
    phases.push_back({phase.getSymName(), phase.getRepeat()});
  return verifyPhaseRuns(*this, getActions()->getRuns(), phases);
}

LogicalResult PhaseOp::verifyRegions() {
  if (static_cast<int64_t>(getRepeat()) < 1)
    return emitOpError("repeat must be at least 1, got: ") << static_cast<int64_t>(getRepeat());
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getOperandTypes() != getResultTypes())
    return emitOpError("results must have the types of what it yields");
  if (getRepeat() == 1 || !getNumResults())
    return success();
  if (!(*this)->getParentOfType<ProgramOp>().getActions())
    return emitOpError("yields nothing when repeated: accumulate into a bucket instead");
  for (Operation *user : getResults().getUsers())
    if (auto reader = user->getParentOfType<PhaseOp>(); reader.getRepeat() != getRepeat())
      return emitOpError("yields to phases of its ")
             << static_cast<int64_t>(getRepeat()) << " slots alone, but @" << reader.getSymName() << " reads it";
  return success();
}

/// The bucket that `name` refers to, of one of the `roles`, and what a rank stores of it.
static FailureOr<int64_t> storedLength(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name,
                                       ArrayRef<BucketRole> roles) {
  auto program = op->getParentOfType<ProgramOp>();
  FailureOr<Mesh> mesh = findMesh(op);
  if (failed(mesh))
    return op->emitOpError("must stand in an spmd.program with a mesh");
  auto bucket = symbols.lookupNearestSymbolFrom<BucketOp>(program, name);
  if (!bucket)
    return op->emitOpError("needs an spmd.bucket, got: ") << name;
  if (!roles.empty() && !llvm::is_contained(roles, bucket.getRole()))
    return op->emitOpError("cannot be of a bucket for ") << stringifyBucketRole(bucket.getRole()) << "s: " << name;
  Axes flat = toAxes(bucket.getFlat());
  for (const std::string &axis : flat)
    if (!mesh->find(axis) || mesh->isTime(axis))
      return op->emitOpError("flat axis of the bucket must be a rank axis of the mesh, got: ") << axis;
  return bucket.getLength() / mesh->product(flat);
}

/// Checks that a value at `offset` lies within the bucket and has its element type, or a wider one where it `mayRound`.
static LogicalResult verifyRange(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name, int64_t offset,
                                 RankedTensorType type, ArrayRef<BucketRole> roles, bool mayRound = false) {
  FailureOr<int64_t> length = storedLength(op, symbols, name, roles);
  if (failed(length))
    return failure();
  if (offset < 0 || offset + type.getNumElements() > *length)
    return op->emitOpError("must lie within the ") << *length << " elements of " << name << ", got: [" << offset << ", "
                                                   << offset + type.getNumElements() << ")";
  auto bucket = symbols.lookupNearestSymbolFrom<BucketOp>(op->getParentOfType<ProgramOp>(), name);
  auto stored = dyn_cast<FloatType>(bucket.getElementType()), given = dyn_cast<FloatType>(type.getElementType());
  bool rounds = mayRound && stored && given && stored.getWidth() < given.getWidth();
  if (bucket.getElementType() != type.getElementType() && !rounds)
    return op->emitOpError("element type must be ") << bucket.getElementType() << ", got: " << type.getElementType();
  return success();
}

LogicalResult ViewOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyRange(*this, symbols, getBucketAttr(), getOffset(), cast<RankedTensorType>(getY().getType()), {});
}

LogicalResult AccumulateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyRange(*this, symbols, getBucketAttr(), getOffset(), cast<RankedTensorType>(getX().getType()),
                     {BucketRole::Gradient, BucketRole::Transient, BucketRole::Scalar}, /*mayRound=*/true);
}

LogicalResult StoreOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyRange(*this, symbols, getBucketAttr(), getOffset(), cast<RankedTensorType>(getX().getType()),
                     {BucketRole::Buffer});
}

LogicalResult SumSquaresOp::verify() {
  if (getXs().empty())
    return emitOpError("needs an operand");
  return success();
}

/// Checks an op on this rank's shard of a parameter bucket: its flat axes, the vectors that it reads, and its slots.
/// Gives the length of the shard.
static FailureOr<int64_t> verifyShard(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name,
                                      ArrayAttr flat, ArrayRef<Value> vectors, ArrayRef<Attribute> slots) {
  if (failed(storedLength(op, symbols, name, {BucketRole::Parameter})))
    return failure();
  Mesh mesh = *findMesh(op);
  for (const std::string &axis : toAxes(flat))
    if (!mesh.find(axis) || mesh.isTime(axis))
      return op->emitOpError("flat axis must be a rank axis of the mesh, got: ") << axis;
  auto bucket = symbols.lookupNearestSymbolFrom<BucketOp>(op->getParentOfType<ProgramOp>(), name);
  int64_t share = bucket.getLength() / mesh.product(toAxes(flat));
  for (Value vector : vectors)
    if (auto type = cast<RankedTensorType>(vector.getType()); type.getRank() != 1 || type.getNumElements() != share)
      return op->emitOpError("gradient must hold the share of ") << share << " elements, got: " << type;
  for (Attribute each : slots) {
    auto slot = cast<FlatSymbolRefAttr>(each);
    FailureOr<int64_t> stored = storedLength(op, symbols, slot, {BucketRole::Slot, BucketRole::Factors});
    if (failed(stored))
      return failure();
    auto bucket = symbols.lookupNearestSymbolFrom<BucketOp>(op->getParentOfType<ProgramOp>(), slot);
    if (int64_t wanted = lengthFor(bucket, share); bucket.getRole() == BucketRole::Slot && *stored != wanted)
      return op->emitOpError("slots must hold the share of ")
             << wanted << " elements, got " << *stored << " in " << slot;
  }
  return share;
}

/// Checks the bucket in which readers see a narrower copy of the parameters; null is none.
static LogicalResult verifyCopy(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr of,
                                FlatSymbolRefAttr name, int64_t share) {
  if (!name)
    return success();
  FailureOr<int64_t> copied = storedLength(op, symbols, name, {BucketRole::Compute});
  if (failed(copied))
    return failure();
  auto copy = symbols.lookupNearestSymbolFrom<BucketOp>(op->getParentOfType<ProgramOp>(), name);
  if (copy.getOfAttr() != of)
    return op->emitOpError("copy must be of ") << of << ", got: " << name;
  if (!copy.getFlat().empty() && *copied != share)
    return op->emitOpError("copy must hold the share of ") << share << " elements, got " << *copied << " in " << name;
  return success();
}

LogicalResult UpdateBucketOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<int64_t> share = verifyShard(*this, symbols, getBucketAttr(), getFlat(), getGrad(), getSlots().getValue());
  return failed(share) ? failure() : verifyCopy(*this, symbols, getBucketAttr(), getCopyAttr(), *share);
}

LogicalResult MakeDirectionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(
          verifyShard(*this, symbols, getBucketAttr(), getFlat(), {getGrad(), getDirection()}, getSlots().getValue())))
    return failure();
  for (auto slot : getSlots().getAsRange<FlatSymbolRefAttr>()) {
    auto bucket = symbols.lookupNearestSymbolFrom<BucketOp>((*this)->getParentOfType<ProgramOp>(), slot);
    int64_t sums = getSquares() ? cast<RankedTensorType>(getSquares().getType()).getNumElements() : 0;
    if (bucket.getRole() == BucketRole::Factors && static_cast<int64_t>(bucket.getLength()) != sums)
      return emitOpError("must read a sum of squares for each of the ")
             << bucket.getLength() << " factors in " << slot << ", got: " << sums;
  }
  return success();
}

LogicalResult FactorSquaresOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyShard(*this, symbols, getBucketAttr(), getFlat(), getGrad(), {});
}

LogicalResult TensorSquaresOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyShard(*this, symbols, getBucketAttr(), getFlat(), getDirection(), {});
}

LogicalResult OrthogonalizeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyShard(*this, symbols, getBucketAttr(), getFlat(), getDirection(), {})))
    return failure();
  auto bucket = symbols.lookupNearestSymbolFrom<BucketOp>((*this)->getParentOfType<ProgramOp>(), getBucketAttr());
  int64_t whole = bucket.getLength() * findMesh(*this)->product(toAxes(getSharded()));
  auto type = cast<RankedTensorType>(getWhole().getType());
  if (type.getRank() != 1 || type.getNumElements() != whole)
    return emitOpError("must read the ") << whole << " elements of all shards, got: " << type;
  return success();
}

LogicalResult ApplyDirectionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<int64_t> share = verifyShard(*this, symbols, getBucketAttr(), getFlat(), getDirection(), {});
  return failed(share) ? failure() : verifyCopy(*this, symbols, getBucketAttr(), getCopyAttr(), *share);
}

LogicalResult AverageBucketOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyShard(*this, symbols, getBucketAttr(), getFlat(), {}, getAverageAttr());
}

LogicalResult ExchangeAverageOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<int64_t> share = verifyShard(*this, symbols, getBucketAttr(), getFlat(), {}, getAverageAttr());
  return failed(share) ? failure() : verifyCopy(*this, symbols, getBucketAttr(), getCopyAttr(), *share);
}

LogicalResult GatherBucketOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<int64_t> length =
      storedLength(*this, symbols, getBucketAttr(), {BucketRole::Parameter, BucketRole::Compute});
  if (failed(length))
    return failure();
  Mesh mesh = *findMesh(*this);
  for (const std::string &axis : toAxes(getAxes()))
    if (!mesh.find(axis) || mesh.isTime(axis))
      return emitOpError("axis must be a rank axis of the mesh, got: ") << axis;
  if (*length % mesh.product(toAxes(getAxes())))
    return emitOpError("length of the bucket must divide by the group of ")
           << mesh.product(toAxes(getAxes())) << ", got: " << *length;
  return success();
}

/// Whether `value` is a scalar of integers of `bits`.
static bool isInteger(Value value, unsigned bits) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 0 && type.getElementType().isInteger(bits);
}

LogicalResult GradScaleOp::verify() {
  if (bool(getLossScale()) != bool(getFinite()))
    return emitOpError("must have a loss scale and a result that says whether all is finite, or neither");
  if (getFinite() && !isInteger(getFinite(), 32))
    return emitOpError("must say by an i32 whether all is finite, got: ") << getFinite().getType();
  return success();
}

LogicalResult AdjustLossScaleOp::verify() {
  if (getOffsets().size() != 3)
    return emitOpError("must name three cells, got: ") << getOffsets().size();
  if (!isInteger(getFinite(), 32) || !isInteger(getTaken(), 64))
    return emitOpError("must take an i32 and give an i64, got: ")
           << getFinite().getType() << " and " << getTaken().getType();
  return success();
}

LogicalResult AdjustLossScaleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<int64_t> length = storedLength(*this, symbols, getBucketAttr(), {BucketRole::Buffer});
  if (failed(length))
    return failure();
  for (int64_t offset : getOffsets())
    if (offset < 0 || offset >= *length)
      return emitOpError("cells must lie in the bucket of ") << *length << " elements, got: " << offset;
  return success();
}

LogicalResult UpdateBucketOp::verify() {
  bool good =
      getGuard().empty() || (getGuard().size() == 2 && isInteger(getGuard()[0], 32) && isInteger(getGuard()[1], 64));
  return good ? success() : emitOpError("guard must be an i32 and the i64 number of the step");
}

} // namespace dtcc::spmd
