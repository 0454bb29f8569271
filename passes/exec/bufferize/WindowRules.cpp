//===- WindowRules.cpp - Bufferization of convolution and pooling
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "passes/exec/bufferize/OpRules.h"
#include <algorithm>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::exec;

namespace {
/// How an image [n, c.., s..] or a kernel [(g,) o, c, s..] lies in memory: as its dimensions stand, or with those of
/// its channels last.
struct Box {
  int64_t spatial;
  /// Dimensions [first, rank - spatial) are channels.
  int64_t first;
  bool last;

  SmallVector<int64_t> order(int64_t rank) const {
    SmallVector<int64_t> dims = dimRange(0, rank);
    if (last)
      std::rotate(dims.begin() + first, dims.end() - spatial, dims.end());
    return dims;
  }
  bool holds(const Place &place) const { return place.transposed(order(place.rank())).isDense(); }
  /// New memory that lies so for a value of that type.
  Place allocate(ShapedType type, Bufferizer &b, StringRef name) const {
    const SmallVector<int64_t> dims = order(type.getRank());
    SmallVector<int64_t> shape, inverse(dims.size());
    for (auto [to, from] : llvm::enumerate(dims)) {
      shape.push_back(type.getDimSize(from));
      inverse[from] = to;
    }
    return b.storage.allocate(RankedTensorType::get(shape, type.getElementType()), name).transposed(inverse);
  }
  /// `place` if it lies so, else a copy that does.
  Place read(const Place &place, Bufferizer &b) const {
    if (!place.isTorn() && holds(place))
      return place;
    Place copy = allocate(RankedTensorType::get(place.sizes, place.element), b, "window");
    b.copy(place, copy, "pack");
    return copy;
  }
};
} // namespace

/// Views a place in the form of the library: `leading` dimensions, then three spatial ones. If the
/// op has no group dimension, one of size 1 is inserted at `groupAt`.
static Place boxOf(Place place, int64_t spatial, int64_t leading, int64_t groupAt) {
  if (place.rank() < spatial + leading)
    place = place.withUnitDim(groupAt);
  for (int64_t i = spatial; i < 3; ++i)
    place = place.withUnitDim(leading);
  return place;
}

namespace {
/// The place to which a library op writes. `goal` is set if the op cannot write to its destination: the place is then
/// copied there.
struct Written {
  Place place;
  int64_t accumulate;
  std::optional<Bufferizer::Destination> goal;

  LogicalResult finish(Location loc, Bufferizer &b) const { return goal ? b.store(place, *goal, loc) : success(); }
};
} // namespace

static Written placeResult(Value result, const Box &box, StringRef name, Bufferizer &b) {
  auto destination = b.destinationOf(result);
  if (destination && box.holds(destination->place)) {
    b.setPlace(result, destination->place);
    return {destination->place, destination->accumulate, std::nullopt};
  }
  Place made = box.allocate(cast<ShapedType>(result.getType()), b, name);
  b.setPlace(result, destination ? destination->place : made);
  return {made, Overwrite, destination};
}

/// Three values, those of missing dimensions before.
static void append(SmallVectorImpl<Attribute> &parameters, ArrayRef<int64_t> values, int64_t missing, Bufferizer &b) {
  for (size_t i = values.size(); i < 3; ++i)
    parameters.push_back(b.builder().getI64IntegerAttr(missing));
  for (int64_t value : values)
    parameters.push_back(b.builder().getI64IntegerAttr(value));
}
template <typename OpTy> static SmallVector<Attribute> stepsOf(OpTy op, Bufferizer &b) {
  SmallVector<Attribute> parameters;
  append(parameters, op.getStrides(), 1, b);
  append(parameters, op.getDilations(), 1, b);
  append(parameters, op.getLow(), 0, b);
  return parameters;
}
static bool isHalf(Type type) { return type.isBF16() || type.isF16(); }
static LogicalResult verifyTypes(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (Type element = cast<ShapedType>(type).getElementType(); !element.isF32() && !isHalf(element))
      return op->emitOpError("has no library op for ") << type << ": windows slide over f32, bf16 and f16";
  return success();
}

template <typename OpTy> static LogicalResult lowerConvolution(OpTy op, Bufferizer &b) {
  if (failed(verifyTypes(op)))
    return failure();
  int64_t spatial = op.getStrides().size();
  SmallVector<Attribute> parameters = stepsOf(op, b);
  // A kernel begins with the groups, images with the samples.
  constexpr bool kernelGrad = std::is_same_v<OpTy, graph::ConvolutionKernelGradOp>;
  Value lhs = op->getOperand(0), rhs = op->getOperand(1), result = op->getResult(0);
  auto type = cast<ShapedType>(lhs.getType());
  const bool last = b.channelsLast() && isHalf(type.getElementType());
  const Box image{spatial, 1, last}, kernel{spatial, type.getRank() - spatial - 1, last};
  const Box &written = kernelGrad ? kernel : image;
  Place left = image.read(b.placeOf(lhs), b), right = (kernelGrad ? image : kernel).read(b.placeOf(rhs), b);
  const Written to = placeResult(result, written, op->getName().stripDialect(), b);
  if (kernelGrad)
    parameters.push_back(b.builder().getI64IntegerAttr(to.accumulate));
  b.library(op, op->getName().stripDialect(),
            {b.view(boxOf(left, spatial, 3, 1)), b.view(boxOf(right, spatial, 3, kernelGrad))},
            b.view(boxOf(to.place, spatial, 3, !kernelGrad)), parameters, to.accumulate != 0);
  return to.finish(op.getLoc(), b);
}

/// Samples, channels and three spatial dimensions: the last dimension before the spatial ones has the channels, one if
/// there is none, and those before it are samples.
static Place planesOf(const Place &place, int64_t spatial, Bufferizer &b) {
  Place from = b.dense(place, "window");
  SmallVector<int64_t> shape{1, 1};
  for (int64_t size : ArrayRef(from.sizes).drop_back(spatial))
    shape[0] *= std::exchange(shape[1], size);
  shape.append(3 - spatial, 1);
  llvm::append_range(shape, ArrayRef(from.sizes).take_back(spatial));
  return *from.reshaped(shape);
}

template <typename OpTy> static LogicalResult lowerPool(OpTy op, Bufferizer &b) {
  if (failed(verifyTypes(op)))
    return failure();
  int64_t spatial = op.getStrides().size();
  SmallVector<Attribute> parameters;
  append(parameters, op.getWindow(), 1, b);
  llvm::append_range(parameters, stepsOf(op, b));
  SmallVector<Value> ins;
  // Channels stay last where they are: [n, c, s..].
  const Box last{spatial, 1, true};
  const bool isLast = b.channelsLast() && isHalf(getElementTypeOrSelf(op->getResult(0).getType())) &&
                      cast<ShapedType>(op->getResult(0).getType()).getRank() == spatial + 2 &&
                      llvm::any_of(op->getOperands(), [&](Value operand) {
                        const Place &place = b.placeOf(operand);
                        return !place.isDense() && last.holds(place);
                      });
  if (isLast) {
    auto planes = [&](Place place) {
      for (int64_t i = spatial; i < 3; ++i)
        place = place.withUnitDim(2);
      return place;
    };
    for (Value operand : op->getOperands())
      ins.push_back(b.view(planes(last.read(b.placeOf(operand), b))));
    const Written to = placeResult(op->getResult(0), last, op->getName().stripDialect(), b);
    b.library(op, op->getName().stripDialect(), ins, b.view(planes(to.place)), parameters);
    return to.finish(op.getLoc(), b);
  }
  for (Value operand : op->getOperands())
    ins.push_back(b.view(planesOf(b.placeOf(operand), spatial, b)));
  Place to = planesOf(b.place(op->getResult(0)), spatial, b);
  b.library(op, op->getName().stripDialect(), ins, b.view(to), parameters);
  return success();
}

void dtcc::exec::addWindowRules(OpRules &rules) {
  rules[graph::ConvolutionOp::getOperationName()] =
      ruleOf<graph::ConvolutionOp, lowerConvolution<graph::ConvolutionOp>>();
  rules[graph::ConvolutionInputGradOp::getOperationName()] =
      ruleOf<graph::ConvolutionInputGradOp, lowerConvolution<graph::ConvolutionInputGradOp>>();
  OpRule &kernel = rules[graph::ConvolutionKernelGradOp::getOperationName()] =
      ruleOf<graph::ConvolutionKernelGradOp, lowerConvolution<graph::ConvolutionKernelGradOp>>();
  kernel.accumulates = true;
  rules[graph::MaxPoolOp::getOperationName()] = ruleOf<graph::MaxPoolOp, lowerPool<graph::MaxPoolOp>>();
  rules[graph::MaxPoolGradOp::getOperationName()] = ruleOf<graph::MaxPoolGradOp, lowerPool<graph::MaxPoolGradOp>>();
}
