//===- UnitOps.cpp - Shares of buckets: reduce, gather, release
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/spmd/Spmd.h"
#include <algorithm>

using namespace mlir;

namespace dtcc::spmd {

/// The axes are rank axes of the mesh, each once.
static LogicalResult verifyAxes(Operation *op, const Mesh &mesh, const Axes &axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!mesh.find(axes[i]) || mesh.isTime(axes[i]))
      return op->emitOpError("axis must be a rank axis of the mesh, got: ") << axes[i];
    if (std::find(axes.begin(), axes.begin() + i, axes[i]) != axes.begin() + i)
      return op->emitOpError("axis must stand once, got twice: ") << axes[i];
  }
  return success();
}

/// The bucket that `name` refers to, of one of the `roles`, whose flat axes are those of the mesh.
static FailureOr<BucketOp> findBucket(Operation *op, SymbolTableCollection &symbols, const Mesh &mesh,
                                      FlatSymbolRefAttr name, ArrayRef<BucketRole> roles) {
  auto program = op->getParentOfType<ProgramOp>();
  auto bucket = program ? symbols.lookupNearestSymbolFrom<BucketOp>(program, name) : BucketOp();
  if (!bucket)
    return op->emitOpError("needs an spmd.bucket, got: ") << name;
  if (!llvm::is_contained(roles, bucket.getRole()))
    return op->emitOpError("cannot be of a bucket for ") << stringifyBucketRole(bucket.getRole()) << "s: " << name;
  if (failed(verifyAxes(bucket, mesh, toAxes(bucket.getFlat()))))
    return failure();
  return bucket;
}

LogicalResult ReduceBucketOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<Mesh> mesh = findMesh(*this);
  if (failed(mesh))
    return failure();
  FailureOr<BucketOp> bucket =
      findBucket(*this, symbols, *mesh, getBucketAttr(), {getInto() ? BucketRole::Transient : BucketRole::Gradient});
  if (failed(bucket))
    return failure();
  Axes scatter = toAxes(getScatter()), sum = toAxes(getSum()), all = scatter;
  all.insert(all.end(), sum.begin(), sum.end());
  if (all.empty())
    return emitOpError("needs an axis to sum over");
  if (failed(verifyAxes(*this, *mesh, all)))
    return failure();
  int64_t stored = bucket->getLength() / mesh->product(toAxes(bucket->getFlat())), group = mesh->product(scatter);
  if (stored % group)
    return emitOpError("length of the bucket must divide by the group of ") << group << ", got: " << stored;
  if (auto phase = (*this)->getParentOfType<PhaseOp>(); phase && getSlot() && *getSlot() >= phase.getRepeat())
    return emitOpError("slot must be one of the ") << phase.getRepeat() << " of its phase, got: " << *getSlot();
  if (!getInto())
    return getAgain() ? emitOpError("must go into shares to be added again, got: in place") : success();
  if (getSlot())
    return emitOpError("into shares must run in every slot, got: slot ") << *getSlot();
  FailureOr<BucketOp> shares = findBucket(*this, symbols, *mesh, getIntoAttr(), {BucketRole::Gradient});
  if (failed(shares))
    return failure();
  int64_t share = shares->getLength() / mesh->product(toAxes(shares->getFlat()));
  if (share != stored / group)
    return emitOpError("shares of ") << stored / group << " elements cannot go into " << getIntoAttr()
                                     << ", which stores " << share;
  return success();
}

LogicalResult GatherUnitOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<Mesh> mesh = findMesh(*this);
  if (failed(mesh))
    return failure();
  FailureOr<BucketOp> bucket =
      findBucket(*this, symbols, *mesh, getBucketAttr(), {BucketRole::Parameter, BucketRole::Compute});
  if (failed(bucket) || failed(verifyAxes(*this, *mesh, toAxes(getAxes()))))
    return failure();
  if (toAxes(getAxes()) != toAxes(bucket->getFlat()))
    return emitOpError("must gather over the flat axes of ") << getBucketAttr() << ", got: " << getAxes();
  auto expected = RankedTensorType::get({static_cast<int64_t>(bucket->getLength())}, bucket->getElementType());
  auto type = cast<RankedTensorType>(getY().getType());
  auto stored = dyn_cast<FloatType>(bucket->getElementType()), made = dyn_cast<FloatType>(type.getElementType());
  bool narrower = stored && made && made.getWidth() < stored.getWidth();
  if (type != expected && !(narrower && type.clone(stored) == expected))
    return emitOpError("result must be ") << expected << " or of a narrower float type, got: " << type;
  return success();
}

LogicalResult UnitViewOp::verify() {
  auto unit = cast<RankedTensorType>(getUnit().getType()), view = cast<RankedTensorType>(getY().getType());
  int64_t begin = getOffset(), end = begin + view.getNumElements();
  if (unit.getRank() != 1 || begin < 0 || end > unit.getNumElements())
    return emitOpError("must lie within the ")
           << unit.getNumElements() << " elements of the unit, got: [" << begin << ", " << end << ")";
  if (unit.getElementType() != view.getElementType())
    return emitOpError("element type must be ") << unit.getElementType() << ", got: " << view.getElementType();
  return success();
}

} // namespace dtcc::spmd
