//===- EmitterMovement.cpp - Reshapes, slices, joins and casts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions and splats stay what they are under movement, so that a mask written as
// index arithmetic ends as one comparison of positions.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Dimensions.h"
#include <string>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// Steps of positions under a new shape, if each counting dimension survives in order among those not of size 1.
static std::optional<Affine> reshapeAffine(const Affine &affine, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  Affine result{affine.offset, SmallVector<int64_t>(to.size(), 0)};
  if (affine.isSplat())
    return result;
  size_t next = 0;
  for (auto [size, step] : llvm::zip_equal(from, affine.steps)) {
    if (size == 1)
      continue;
    while (next < to.size() && to[next] == 1)
      ++next;
    if (next == to.size() || to[next] != size)
      return std::nullopt;
    result.steps[next++] = step;
  }
  return result;
}

Tensor Emitter::reshape(const Tensor &x, ArrayRef<int64_t> shape) {
  if (!x || shapeOf(x) == shape)
    return x;
  if (checkedSize(shape) != cellsOf(shapeOf(x))) {
    std::string from, to;
    llvm::raw_string_ostream(from) << x->type;
    llvm::raw_string_ostream(to) << typeLike(x, shape);
    return error("a reshape must keep the number of elements, got: " + from + " to " + to +
                 "; an export with a fixed batch size writes such shapes");
  }
  RankedTensorType type = typeLike(x, shape);
  if (x->constant) {
    HostTensor cells = *x->constant;
    cells.shape.assign(shape.begin(), shape.end());
    return constant(std::move(cells));
  }
  if (x->splat)
    return splat(type, x->splat->floats[0]);
  if (x->affine)
    if (std::optional<Affine> result = reshapeAffine(*x->affine, shapeOf(x), shape))
      return affine(type, *result);
  Value operand = value(x);
  // A chain of reshapes is one.
  if (auto inner = operand.getDefiningOp<graph::ReshapeOp>()) {
    operand = inner.getX();
    if (operand.getType() == type)
      return fromValue(operand);
  }
  return fromValue(graph::ReshapeOp::create(builder, loc, type, operand));
}

Tensor Emitter::transpose(const Tensor &x, ArrayRef<int64_t> permutation) {
  if (!x || llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return x;
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(x)[dim]);
  RankedTensorType type = typeLike(x, shape);
  if (x->splat)
    return splat(type, x->splat->floats[0]);
  if (x->affine) {
    Affine result{x->affine->offset, {}};
    for (int64_t dim : permutation)
      result.steps.push_back(x->affine->steps[dim]);
    return affine(type, result);
  }
  return finish(graph::TransposeOp::create(builder, loc, type, value(x), permutation), {x});
}

Tensor Emitter::broadcastTo(const Tensor &x, ArrayRef<int64_t> shape) {
  if (!x || shapeOf(x) == shape)
    return x;
  int64_t lead = int64_t(shape.size()) - rankOf(x);
  SmallVector<int64_t> kept, dims;
  bool fits = lead >= 0;
  for (int64_t dim = 0; fits && dim < rankOf(x); ++dim) {
    int64_t size = shapeOf(x)[dim];
    fits = size == 1 || size == shape[dim + lead];
    if (size == 1 && shape[dim + lead] != 1)
      continue;
    kept.push_back(size);
    dims.push_back(dim + lead);
  }
  if (!fits) {
    std::string from, to;
    llvm::raw_string_ostream(from) << x->type;
    llvm::raw_string_ostream(to) << typeLike(x, shape);
    return error("cannot broadcast " + from + " to " + to);
  }
  RankedTensorType type = typeLike(x, shape);
  if (isFloat(x)) {
    if (std::optional<double> cell = knownSplat(x))
      return splat(type, *cell);
  } else if (std::optional<Affine> known = knownAffine(x)) {
    Affine result{known->offset, SmallVector<int64_t>(shape.size(), 0)};
    for (int64_t dim : dims)
      result.steps[dim] = known->steps[dim - lead];
    return affine(type, result);
  }
  Tensor compact = reshape(x, kept);
  if (int64_t(kept.size()) == type.getRank())
    return compact;
  return finish(graph::BroadcastOp::create(builder, loc, type, value(compact), dims), {compact});
}

Tensor Emitter::slice(const Tensor &x, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  if (!x || (shapeOf(x) == sizes && llvm::all_of(offsets, [](int64_t offset) { return offset == 0; })))
    return x;
  RankedTensorType type = typeLike(x, sizes);
  if (x->splat)
    return splat(type, x->splat->floats[0]);
  if (x->constant || !isFloat(x)) {
    // Stored positions stay positions: a table of position ids cut to the bound length.
    std::optional<Affine> known = cellsOf(shapeOf(x)) > 64 || !x->constant ? knownAffine(x) : std::nullopt;
    if (known) {
      Affine result{known->offset, {}};
      for (auto [offset, size, stride, step] : llvm::zip_equal(offsets, sizes, strides, known->steps)) {
        result.offset += offset * step;
        result.steps.push_back(size > 1 ? stride * step : 0);
      }
      return affine(type, result);
    }
  }
  if (!x->constant && llvm::any_of(strides, [](int64_t stride) { return stride < 0; })) {
    SmallVector<int64_t> firsts(offsets), steps(strides), turned;
    for (auto [dim, step] : llvm::enumerate(steps))
      if (step < 0) {
        firsts[dim] += (sizes[dim] - 1) * step;
        step = -step;
        turned.push_back(static_cast<int64_t>(dim));
      }
    Tensor y = slice(x, firsts, sizes, steps);
    for (int64_t dim : turned)
      y = reversed(*this, y, dim);
    return y;
  }
  Value operand = value(x);
  // Labels padded at the end and cut at the start are a shift: the cells keep their dimension.
  if (auto pad = operand.getDefiningOp<graph::PadOp>(); pad && !isFloat(x)) {
    auto inner = cast<RankedTensorType>(pad.getX().getType());
    SmallVector<int64_t> moved;
    for (int64_t dim = 0; dim < inner.getRank(); ++dim)
      if (offsets[dim] != pad.getLow()[dim])
        moved.push_back(dim);
    if (inner.getShape() == sizes && moved.size() == 1 && llvm::all_equal(strides) && strides[0] == 1)
      return fromValue(graph::ShiftOp::create(builder, loc, type, pad.getX(), moved[0],
                                              offsets[moved[0]] - pad.getLow()[moved[0]],
                                              int64_t(pad.getValue().convertToDouble())));
  }
  return finish(graph::SliceOp::create(builder, loc, type, operand, offsets, strides), {x});
}

/// Positions that go on where the piece before ends.
static std::optional<Affine> joinAffine(ArrayRef<Tensor> xs, int64_t dim) {
  std::optional<Affine> result = knownAffine(xs[0]);
  int64_t length = shapeOf(xs[0])[dim];
  for (const Tensor &x : xs.drop_front()) {
    std::optional<Affine> next = knownAffine(x);
    if (!result || !next)
      return std::nullopt;
    int64_t size = shapeOf(x)[dim];
    int64_t step = next->offset - result->offset;
    if (length > 0 && step % length != 0)
      return std::nullopt;
    step = length > 0 ? step / length : next->steps[dim];
    if ((length > 1 && result->steps[dim] != step) || (size > 1 && next->steps[dim] != step))
      return std::nullopt;
    for (int64_t other = 0; other < int64_t(result->steps.size()); ++other)
      if (other != dim && result->steps[other] != next->steps[other])
        return std::nullopt;
    result->steps[dim] = step;
    length += size;
  }
  return result;
}

Tensor Emitter::concat(ArrayRef<Tensor> xs, int64_t dim) {
  SmallVector<Tensor> parts;
  for (const Tensor &x : xs) {
    if (!x)
      return nullptr;
    if (rankOf(x) != rankOf(xs[0]) || elementOf(x) != elementOf(xs[0]))
      return error("joined tensors must have one rank and element type");
    for (int64_t other = 0; other < rankOf(x); ++other)
      if (other != dim && shapeOf(x)[other] != shapeOf(xs[0])[other])
        return error("joined tensors must agree in all dimensions but " + Twine(dim) +
                     ", got: " + Twine(shapeOf(xs[0])[other]) + " and " + Twine(shapeOf(x)[other]));
    if (shapeOf(x)[dim] > 0)
      parts.push_back(x);
  }
  if (parts.empty())
    return xs[0];
  if (parts.size() == 1)
    return parts[0];
  SmallVector<int64_t> shape(shapeOf(parts[0]));
  shape[dim] = 0;
  for (const Tensor &x : parts) {
    shape[dim] += shapeOf(x)[dim];
    if (!fits(loc, typeLike(x, shape)))
      return nullptr;
  }
  RankedTensorType type = typeLike(parts[0], shape);
  bool shapeArithmetic = llvm::all_of(parts, [](const Tensor &x) { return x->constant != nullptr; });
  if (!isFloat(parts[0]) && !shapeArithmetic) {
    if (std::optional<Affine> joined = joinAffine(parts, dim))
      return affine(type, *joined);
    // Coordinates for GatherND: kept apart until somebody wants the whole.
    if (dim == type.getRank() - 1 && llvm::all_of(parts, [&](const Tensor &x) { return shapeOf(x)[dim] == 1; })) {
      auto data = std::make_shared<TensorData>();
      data->type = type;
      for (const Tensor &x : parts)
        data->coordinates.push_back(reshape(x, shapeOf(x).drop_back()));
      return data;
    }
  }
  SmallVector<Value> values;
  for (const Tensor &x : parts)
    values.push_back(value(x));
  return finish(graph::ConcatOp::create(builder, loc, type, values, dim), parts);
}

Tensor Emitter::cast(const Tensor &x, Type element) {
  if (!x || elementOf(x) == element)
    return x;
  auto type = RankedTensorType::get(shapeOf(x), element);
  bool toBool = element.isInteger(1), toFloat = isa<FloatType>(element);
  if (!isFloat(x) && !toFloat) {
    std::optional<Affine> known = x->constant && rankOf(x) > 0 ? std::nullopt : knownAffine(x);
    if (known && (!toBool || known->isSplat())) {
      if (toBool)
        known->offset = known->offset != 0;
      return affine(type, *known);
    }
  } else if (std::optional<double> cell = x->constant && rankOf(x) > 0 ? std::nullopt : knownSplat(x)) {
    return splat(type, toBool ? double(*cell != 0) : *cell);
  }
  if (toBool)
    return compare(graph::Predicate::ne, x, scalar(0, elementOf(x)));
  return finish(graph::CastOp::create(builder, loc, type, value(x)), {x});
}

/// Rounds cells to their type, and then to a narrower one.
static std::shared_ptr<const HostTensor> rounded(const std::shared_ptr<const HostTensor> &cells, Type own, Type half) {
  if (!cells)
    return cells;
  auto result = std::make_shared<HostTensor>(*cells);
  for (Type element : {own, half}) {
    result->elementType = element;
    result->round();
  }
  return result;
}

Tensor Emitter::roundTo(const Tensor &x, FloatType half) {
  Tensor y = cast(x, half);
  if (!y || !isFloat(x) || elementOf(x).getIntOrFloatBitWidth() <= half.getWidth())
    return y;
  if (y->constant || y->splat) {
    y = std::make_shared<TensorData>(*y);
    y->constant = rounded(y->constant, elementOf(x), half);
    y->splat = rounded(y->splat, elementOf(x), half);
  } else if (auto made = y->value ? y->value.getDefiningOp<graph::CastOp>() : nullptr) {
    made.setRounds(true);
  }
  return y;
}
