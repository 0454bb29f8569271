//===- MovementOps.cpp - Factors, folds and verifiers of movement ops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// None computes: their flops are 0, all their cost is bytes.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

#define DTCC_NO_FLOPS(OP)                                                                                              \
  double OP::getFlops(ArrayRef<int64_t>) { return 0; }
DTCC_NO_FLOPS(ConstantOp)
DTCC_NO_FLOPS(IotaOp)
DTCC_NO_FLOPS(ReshapeOp)
DTCC_NO_FLOPS(BarrierOp)
DTCC_NO_FLOPS(TransposeOp)
DTCC_NO_FLOPS(BroadcastOp)
DTCC_NO_FLOPS(SliceOp)
DTCC_NO_FLOPS(PadOp)
DTCC_NO_FLOPS(ShiftOp)
DTCC_NO_FLOPS(ConcatOp)
DTCC_NO_FLOPS(StackOp)
DTCC_NO_FLOPS(UnstackOp)
DTCC_NO_FLOPS(GatherOp)

//===----------------------------------------------------------------------===//
// constant, iota
//===----------------------------------------------------------------------===//

FactorMap ConstantOp::getFactorMap() {
  FactorMap map;
  // A shard of a splat is a splat; a shard of other values needs them whole.
  bool splat = isa<SplatElementsAttr>(getValue());
  map.results.push_back(addFactors(map, getY(), splat ? FactorKind::Parallel : FactorKind::Replicate));
  return map;
}
LogicalResult ConstantOp::verify() {
  auto type = cast<ShapedType>(getValue().getType());
  if (type.getElementType() != elementOf(getY()) || type.getShape() != shapeOf(getY()))
    return emitOpError() << "value must have the shape and element type of the result, got: " << type;
  return success();
}
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

FactorMap IotaOp::getFactorMap() {
  FactorMap map;
  map.results.push_back(addFactors(map, getY()));
  map.factors[getDim()].kind = FactorKind::Index;
  return map;
}
LogicalResult IotaOp::verify() { return verifyDim(*this, "dim", getDim(), rankOf(getY())); }

//===----------------------------------------------------------------------===//
// reshape, transpose, broadcast
//===----------------------------------------------------------------------===//

FactorMap ReshapeOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  ArrayRef<int64_t> from = shapeOf(getX()), to = shapeOf(getY());
  Dims x(from.size(), kNoFactor), y(to.size(), kNoFactor);
  // Walks both shapes in minimal groups of equal product. Size-1 dimensions have no factor.
  size_t i = 0, j = 0;
  auto skipOnes = [](ArrayRef<int64_t> shape, size_t &at) {
    while (at < shape.size() && shape[at] == 1)
      ++at;
  };
  while (true) {
    skipOnes(from, i);
    skipOnes(to, j);
    if (i == from.size() || j == to.size())
      break;
    if (from[i] == to[j]) {
      x[i] = y[j] = map.add(from[i]);
      ++i, ++j;
      continue;
    }
    int64_t left = from[i], right = to[j];
    x[i] = map.add(from[i], FactorKind::Replicate);
    y[j] = map.add(to[j], FactorKind::Replicate);
    ++i, ++j;
    while (left != right) {
      if (left < right && i < from.size()) {
        left *= from[i];
        x[i] = map.add(from[i], FactorKind::Replicate);
        ++i;
      } else if (left > right && j < to.size()) {
        right *= to[j];
        y[j] = map.add(to[j], FactorKind::Replicate);
        ++j;
      } else {
        break;
      }
    }
  }
  map.operands.push_back(x);
  map.results.push_back(y);
  return map;
}
LogicalResult ReshapeOp::verify() {
  if (failed(verifySameElement(*this, getX(), getY())))
    return failure();
  if (product(shapeOf(getX())) == product(shapeOf(getY())))
    return success();
  return emitOpError() << "must keep the number of cells, got: " << getX().getType() << " to " << getY().getType();
}
OpFoldResult ReshapeOp::fold(FoldAdaptor) { return getX().getType() == getY().getType() ? getX() : Value(); }

FactorMap BarrierOp::getFactorMap() {
  FactorMap map;
  map.operands.push_back(addFactors(map, getX()));
  map.results.push_back(map.operands[0]);
  return map;
}

FactorMap TransposeOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  map.operands.push_back(addFactors(map, getX()));
  map.results.push_back(at(map.operands[0], getPermutation()));
  return map;
}
LogicalResult TransposeOp::verify() {
  int64_t rank = rankOf(getX());
  if (failed(verifyLength(*this, "permutation", getPermutation().size(), rank)) ||
      failed(verifySameElement(*this, getX(), getY())))
    return failure();
  SmallVector<bool> seen(rank, false);
  for (int64_t dim : getPermutation()) {
    if (failed(verifyDim(*this, "permutation", dim, rank)))
      return failure();
    if (seen[dim])
      return emitOpError() << "permutation must name every dimension once, got twice: " << dim;
    seen[dim] = true;
  }
  return success();
}
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (getX().getType() == getY().getType() && llvm::is_sorted(getPermutation()))
    return getX();
  return nullptr;
}

FactorMap BroadcastOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  map.results.push_back(addFactors(map, getY()));
  map.operands.push_back(at(map.results[0], getDims()));
  return map;
}
LogicalResult BroadcastOp::verify() {
  if (failed(verifyLength(*this, "dims", getDims().size(), rankOf(getX()))) ||
      failed(verifySameElement(*this, getX(), getY())))
    return failure();
  return getDims().empty() ? success() : verifyDims(*this, getDims(), rankOf(getY()));
}

//===----------------------------------------------------------------------===//
// slice, pad, shift
//===----------------------------------------------------------------------===//

/// Dimensions that `whole` selects are one parallel factor of x and y; the others are
/// wanted whole, with a factor each side.
static FactorMap partialDims(Value x, Value y, llvm::function_ref<bool(int64_t)> whole) {
  FactorMap map;
  Dims from, to;
  for (int64_t i = 0; i < rankOf(x); ++i) {
    if (!whole(i)) {
      from.push_back(map.add(shapeOf(x)[i]));
      to.push_back(from.back());
    } else {
      from.push_back(map.add(shapeOf(x)[i], FactorKind::Replicate));
      to.push_back(map.add(shapeOf(y)[i], FactorKind::Replicate));
    }
  }
  map.operands.push_back(from);
  map.results.push_back(to);
  return map;
}

FactorMap SliceOp::getFactorMap() {
  FactorMap map = partialDims(getX(), getY(), [&](int64_t i) {
    return getOffsets()[i] != 0 || getStrides()[i] != 1 || shapeOf(getX())[i] != shapeOf(getY())[i];
  });
  map.linear = {{0}};
  return map;
}
LogicalResult SliceOp::verify() {
  int64_t rank = rankOf(getX());
  if (failed(verifyLength(*this, "offsets", getOffsets().size(), rank)) ||
      failed(verifyLength(*this, "strides", getStrides().size(), rank)) ||
      failed(verifyRank(*this, "result", getY(), rank)) || failed(verifySameElement(*this, getX(), getY())))
    return failure();
  for (int64_t i = 0; i < rank; ++i) {
    int64_t stride = getStrides()[i], first = getOffsets()[i], count = shapeOf(getY())[i];
    if (stride == 0)
      return emitOpError() << "stride must not be 0 in dimension " << i;
    int64_t last = first + (count - 1) * stride, size = shapeOf(getX())[i];
    if (count > 0 && (std::min(first, last) < 0 || std::max(first, last) >= size))
      return emitOpError() << "must read cells of [0, " << size << ") of dimension " << i << ", got: " << first
                           << " to " << last;
  }
  return success();
}

FactorMap PadOp::getFactorMap() {
  FactorMap map = partialDims(getX(), getY(), [&](int64_t i) { return getLow()[i] != 0 || getHigh()[i] != 0; });
  if (getValue().isZero())
    map.linear = {{0}};
  return map;
}
LogicalResult PadOp::verify() {
  int64_t rank = rankOf(getX());
  if (failed(verifyLength(*this, "low", getLow().size(), rank)) ||
      failed(verifyLength(*this, "high", getHigh().size(), rank)) ||
      failed(verifyRank(*this, "result", getY(), rank)) || failed(verifySameElement(*this, getX(), getY())))
    return failure();
  for (int64_t i = 0; i < rank; ++i) {
    if (getLow()[i] < 0 || getHigh()[i] < 0)
      return emitOpError() << "low and high must not be negative, got: " << std::min(getLow()[i], getHigh()[i]);
    int64_t size = getLow()[i] + shapeOf(getX())[i] + getHigh()[i];
    if (shapeOf(getY())[i] != size)
      return emitOpError() << "result dimension " << i << " must have size " << size << ", got: " << shapeOf(getY())[i];
  }
  return success();
}

FactorMap ShiftOp::getFactorMap() {
  FactorMap map = elementwiseFactorMap(*this);
  map.factors[getDim()].kind = FactorKind::Window;
  return map;
}
LogicalResult ShiftOp::verify() { return verifyDim(*this, "dim", getDim(), rankOf(getX())); }

//===----------------------------------------------------------------------===//
// concat, stack, unstack, gather
//===----------------------------------------------------------------------===//

static SmallVector<unsigned> allOperands(Operation *op) {
  SmallVector<unsigned> all;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    all.push_back(i);
  return all;
}

FactorMap ConcatOp::getFactorMap() {
  FactorMap map;
  map.linear = {allOperands(*this)};
  map.results.push_back(addFactors(map, getY()));
  map.factors[map.results[0][getDim()]].kind = FactorKind::Replicate;
  for (Value x : getXs()) {
    Dims dims = map.results[0];
    dims[getDim()] = map.add(shapeOf(x)[getDim()], FactorKind::Replicate);
    map.operands.push_back(dims);
  }
  return map;
}
LogicalResult ConcatOp::verify() {
  if (getXs().empty())
    return emitOpError("needs at least one operand");
  if (failed(verifyDim(*this, "dim", getDim(), rankOf(getY()))))
    return failure();
  int64_t size = 0;
  for (Value x : getXs()) {
    if (failed(verifyRank(*this, "operand", x, rankOf(getY()))) || failed(verifySameElement(*this, x, getY())))
      return failure();
    size += shapeOf(x)[getDim()];
  }
  if (size != shapeOf(getY())[getDim()])
    return emitOpError() << "result dimension " << getDim() << " must have size " << size
                         << ", got: " << shapeOf(getY())[getDim()];
  return success();
}

FactorMap StackOp::getFactorMap() {
  FactorMap map;
  map.linear = {allOperands(*this)};
  map.results.push_back(addFactors(map, getY()));
  int64_t dim = getDim();
  map.factors[dim].kind = FactorKind::Replicate;
  map.operands.assign(getXs().size(), without(map.results[0], dim));
  return map;
}
LogicalResult StackOp::verify() {
  if (getXs().empty())
    return emitOpError("needs at least one operand");
  if (failed(verifyDim(*this, "dim", getDim(), rankOf(getY()))))
    return failure();
  for (Value x : getXs())
    if (failed(verifySameElement(*this, x, getY())))
      return failure();
  int64_t count = getXs().size();
  if (shapeOf(getY())[getDim()] != count)
    return emitOpError() << "result dimension " << getDim() << " must have size " << count
                         << ", got: " << shapeOf(getY())[getDim()];
  return success();
}

FactorMap UnstackOp::getFactorMap() {
  FactorMap map;
  map.linear = {{0}};
  map.operands.push_back(addFactors(map, getX()));
  int64_t dim = getDim();
  map.factors[dim].kind = FactorKind::Replicate;
  map.results.assign(getYs().size(), without(map.operands[0], dim));
  return map;
}
LogicalResult UnstackOp::verify() {
  if (failed(verifyDim(*this, "dim", getDim(), rankOf(getX()))))
    return failure();
  int64_t size = shapeOf(getX())[getDim()];
  if (static_cast<int64_t>(getYs().size()) != size)
    return emitOpError() << "must have " << size << " results, got: " << getYs().size();
  for (Value y : getYs())
    if (failed(verifySameElement(*this, getX(), y)))
      return failure();
  return success();
}

FactorMap GatherOp::getFactorMap() {
  FactorMap map;
  if (isFloat(getX()))
    map.linear = {{0}};
  Dims x = addFactors(map, getX()), indices = addFactors(map, getIndices());
  int64_t axis = getAxis();
  map.factors[x[axis]].kind = FactorKind::Replicate;
  map.operands = {x, indices};
  ArrayRef<int64_t> dims(x);
  map.results.push_back(concat(concat(dims.take_front(axis), indices), dims.drop_front(axis + 1)));
  return map;
}
LogicalResult GatherOp::verify() {
  if (failed(verifyDim(*this, "axis", getAxis(), rankOf(getX()))))
    return failure();
  return verifySameElement(*this, getX(), getY());
}
