//===- Coordinates.cpp - Which cells indices name
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Coordinates.h"
#include "frontends/onnx/emit/Dimensions.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// Whether the indices are those of a top_k among at most `size` cells: from the start already.
static bool isPickOf(const Tensor &indices, int64_t size) {
  Value value = indices->value;
  while (Operation *op = value ? value.getDefiningOp() : nullptr) {
    if (auto pick = dyn_cast<graph::TopKOp>(op))
      return cast<ShapedType>(pick.getX().getType()).getShape().back() <= size;
    if (!isa<graph::ReshapeOp, graph::TransposeOp, graph::BroadcastOp, graph::SliceOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

Tensor dtcc::onnx::fromStart(Emitter &emit, const Tensor &indices, int64_t size, bool checked) {
  if (std::shared_ptr<const HostTensor> cells = indices->constant) {
    HostTensor moved = *cells;
    for (int64_t &cell : moved.ints) {
      if (cell < -size || cell >= size)
        return emit.error("an index must be within the " + Twine(size) + " cells of the axis, got: " + Twine(cell));
      cell = cell < 0 ? cell + size : cell;
    }
    return emit.constant(std::move(moved));
  }
  if (std::optional<Affine> at = knownAffine(indices)) {
    int64_t low = at->offset, high = at->offset;
    for (auto [step, count] : llvm::zip_equal(at->steps, shapeOf(indices)))
      (step < 0 ? low : high) += step * std::max<int64_t>(count - 1, 0);
    if (high < 0 && low + size >= 0) {
      at->offset += size;
      return emit.affine(indices->type, *at);
    }
    if (low + size < 0 || high >= size)
      return emit.error("positions must be within the " + Twine(size) +
                        " rows of the table, got: " + Twine(low + size < 0 ? low : high));
    if (low >= 0)
      return indices;
    // Some count from the start, and some from the end.
  } else if (checked || isPickOf(indices, size))
    return indices;
  Tensor zero = emit.scalar(0, elementOf(indices)), count = emit.scalar(double(size), elementOf(indices));
  return emit.select(emit.compare(graph::Predicate::lt, indices, zero), emit.add(indices, count), indices);
}

/// The coordinates of an index tensor whose last dimension lists them.
static SmallVector<Tensor> coordinatesOf(Emitter &emit, const Tensor &indices) {
  if (!indices->coordinates.empty())
    return SmallVector<Tensor>(indices->coordinates.begin(), indices->coordinates.end());
  SmallVector<Tensor> result;
  SmallVector<int64_t> offsets(rankOf(indices), 0), shape(shapeOf(indices)), strides(rankOf(indices), 1);
  int64_t count = shape.back();
  shape.back() = 1;
  for (int64_t i = 0; i < count; ++i) {
    offsets.back() = i;
    result.push_back(squeeze(emit, emit.slice(indices, offsets, shape, strides), rankOf(indices) - 1));
  }
  return result;
}

FailureOr<SmallVector<Tensor>> dtcc::onnx::pointCoordinates(OpBinder &node, int64_t batchDims) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), indices = node.input(1);
  int64_t rank = rankOf(x);
  if (rankOf(indices) < 1 || isFloat(indices) || shapeOf(indices).back() < 1 || shapeOf(indices).back() > rank)
    return node.error("indices must be integers whose last dimension is at least 1 and at most the rank of the data");
  if (batchDims < 0 || batchDims >= std::min(rank, rankOf(indices)) || batchDims + shapeOf(indices).back() > rank ||
      shapeOf(x).take_front(batchDims) != shapeOf(indices).take_front(batchDims))
    return node.error("batch_dims must count leading dimensions that the data and the indices share, got: " +
                      Twine(batchDims));
  SmallVector<Tensor> coordinates, given = coordinatesOf(emit, indices);
  for (int64_t dim = 0; dim < batchDims; ++dim) {
    Affine own{0, SmallVector<int64_t>(rankOf(indices) - 1, 0)};
    own.steps[dim] = 1;
    coordinates.push_back(emit.affine(typeLike(indices, shapeOf(indices).drop_back()), own));
  }
  for (auto [i, coordinate] : llvm::enumerate(given)) {
    coordinates.push_back(fromStart(emit, coordinate, shapeOf(x)[batchDims + static_cast<int64_t>(i)]));
    if (!coordinates.back())
      return failure();
  }
  return coordinates;
}

/// Indices that repeat one vector along every dimension but `axis`: that vector, or null.
static Tensor repeatedRow(Emitter &emit, const Tensor &indices, int64_t axis) {
  Value value = indices->value;
  auto repeat = value ? value.getDefiningOp<graph::BroadcastOp>() : graph::BroadcastOp();
  if (!repeat || repeat.getDims() != ArrayRef<int64_t>{axis})
    return nullptr;
  return emit.fromValue(repeat.getX());
}

FailureOr<ElementPlaces> dtcc::onnx::elementPlaces(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), indices = node.input(1);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 0), rankOf(x));
  if (failed(axis))
    return failure();
  if (isFloat(indices) || rankOf(indices) != rankOf(x))
    return node.error("indices must be integers of the data's rank");
  ElementPlaces places;
  places.axis = *axis;
  places.size = shapeOf(x)[*axis], places.count = shapeOf(indices)[*axis], places.cells = cellsOf(shapeOf(indices));
  places.sameLines = true;
  for (int64_t dim = 0; dim < rankOf(x); ++dim) {
    if (dim == *axis)
      continue;
    if (shapeOf(indices)[dim] > shapeOf(x)[dim])
      return node.error("indices must not be larger than the data");
    places.sameLines &= shapeOf(indices)[dim] == shapeOf(x)[dim];
  }
  if (Tensor row = places.sameLines ? repeatedRow(emit, indices, *axis) : nullptr) {
    places.rows = fromStart(emit, row, places.size);
    if (!places.rows)
      return failure();
  }
  Tensor own = fromStart(emit, indices, places.size);
  if (!own)
    return failure();
  // Positions are not data: they read slices, and write boxes.
  places.sameLines &= !knownAffine(own);
  for (int64_t dim = 0; dim < rankOf(x); ++dim) {
    Affine position{0, SmallVector<int64_t>(rankOf(x), 0)};
    position.steps[dim] = 1;
    places.coordinates.push_back(dim == *axis ? own : emit.affine(indices->type, position));
  }
  return places;
}
