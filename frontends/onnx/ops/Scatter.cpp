//===- ops/Scatter.cpp - Cells that are written
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Scatter.h"
#include "frontends/onnx/Coordinates.h"
#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// The way in which the node combines a written cell with the former cell.
static FailureOr<ScatterKind> kindOf(OpBinder &node) {
  std::string reduction = node.text("reduction", "none");
  std::optional<ScatterKind> kind = llvm::StringSwitch<std::optional<ScatterKind>>(reduction)
                                        .Case("none", ScatterKind::replace)
                                        .Case("add", ScatterKind::add)
                                        .Case("mul", ScatterKind::mul)
                                        .Case("max", ScatterKind::max)
                                        .Case("min", ScatterKind::min)
                                        .Default(std::nullopt);
  if (!kind)
    return node.error("reduction must be none, add, mul, max or min, got: " + reduction);
  return *kind;
}

static LogicalResult scatterElementsRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), updates = node.input(2);
  FailureOr<ElementPlaces> places = elementPlaces(node);
  FailureOr<ScatterKind> kind = kindOf(node);
  if (failed(places) || failed(kind))
    return failure();
  if (shapeOf(updates) != shapeOf(node.input(1)))
    return node.error("updates must have the shape of the indices");
  int64_t axis = places->axis;
  if (places->rows && places->sameLines) {
    // Rows: the axis first, and back.
    SmallVector<int64_t> turn = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
    std::swap(turn[0], turn[axis]);
    Tensor written = scatterPoints(emit, emit.transpose(x, turn), {places->rows}, emit.transpose(updates, turn), *kind);
    return node.result(0, emit.transpose(written, turn));
  }
  if (places->sameLines && places->cells <= kMostPairs / std::max<int64_t>(places->size, 1))
    return node.result(0, place(emit, x, places->coordinates[axis], updates, axis, *kind));
  return node.result(0, scatterPoints(emit, x, places->coordinates, updates, *kind));
}

static LogicalResult scatterNDRule(OpBinder &node) {
  FailureOr<SmallVector<Tensor>> coordinates = pointCoordinates(node, 0);
  FailureOr<ScatterKind> kind = kindOf(node);
  if (failed(coordinates) || failed(kind))
    return failure();
  return node.result(0, scatterPoints(node.emit(), node.input(0), *coordinates, node.input(2), *kind));
}

/// Operand 0 [n, c, s..] at the places that operand 1 names in the whole flattened result, else zeros.
static LogicalResult maxUnpoolRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), indices = node.input(1);
  int64_t spatial = rankOf(x) - 2;
  auto window = node.integers("kernel_shape");
  SmallVector<int64_t> strides =
      node.integers("strides").value_or(SmallVector<int64_t>(std::max<int64_t>(spatial, 0), 1));
  SmallVector<int64_t> pads =
      node.integers("pads").value_or(SmallVector<int64_t>(2 * std::max<int64_t>(spatial, 0), 0));
  if (spatial < 1 || !window || int64_t(window->size()) != spatial || int64_t(strides.size()) != spatial ||
      int64_t(pads.size()) != 2 * spatial || shapeOf(indices) != shapeOf(x) || isFloat(indices))
    return node.error("must have an image [n, c, ..], indices of its shape, and kernel_shape, strides and pads that "
                      "have an entry (pads two) for each spatial dimension");
  SmallVector<int64_t> shape(shapeOf(x));
  for (int64_t d = 0; d < spatial; ++d) {
    int64_t most = std::max({shape[d + 2], (*window)[d], strides[d], std::abs(pads[d]), std::abs(pads[d + spatial])});
    if ((*window)[d] < 1 || strides[d] < 1 || most > kMostWindow)
      return node.error("kernel_shape, strides and pads must be between 1 and " + Twine(kMostWindow));
    shape[d + 2] = (shape[d + 2] - 1) * strides[d] + (*window)[d] - pads[d] - pads[d + spatial];
  }
  // The indices count in an image of this size; a larger result has zeros behind it.
  SmallVector<int64_t> result = shape, none(rankOf(x), 0), more;
  if (node.has(2)) {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(2);
    if (failed(given))
      return failure();
    result = *given;
  }
  std::optional<int64_t> cells = checkedSize(shape);
  bool holds = cells && checkedSize(result) && int64_t(result.size()) == rankOf(x);
  for (int64_t dim = 0; holds && dim < rankOf(x); ++dim) {
    holds = result[dim] >= shape[dim];
    more.push_back(result[dim] - shape[dim]);
  }
  if (!holds)
    return node.error("the result must have the rank of the image, and hold its windows");
  int64_t named = cellsOf(shapeOf(x));
  Tensor flat = emit.splat(typeLike(x, {*cells}), 0);
  Tensor place = fromStart(emit, emit.reshape(indices, {named}), *cells);
  Tensor image = scatterPoints(emit, flat, {place}, emit.reshape(x, {named}), ScatterKind::replace);
  return node.result(0, pad(emit, emit.reshape(image, shape), none, more, 0));
}

void dtcc::onnx::addScatterRules(RuleTable &table) {
  table.on("ScatterND", 11, {3, 3}, scatterNDRule);
  table.on("ScatterElements", 11, {3, 3}, scatterElementsRule);
  table.on("Scatter", 9, {3, 3}, scatterElementsRule);
  table.on("MaxUnpool", 9, {2, 3}, ofFloats<maxUnpoolRule>);
}
