//===- ops/Indexing.cpp - Gathers, picks, triangles and running sums
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Indexing.h"
#include "frontends/onnx/Coordinates.h"
#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Logic.h"
#include "frontends/onnx/emit/Reductions.h"
#include "frontends/onnx/file/Model.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

static LogicalResult gatherRule(OpBinder &node) {
  Tensor x = node.input(0), indices = node.input(1);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 0), rankOf(x));
  if (failed(axis))
    return failure();
  if (isFloat(indices))
    return node.error("indices must be integers");
  bool table = x->value && x->value.getDefiningOp<graph::ReadOp>() && *axis == 0 && rankOf(x) == 2;
  return node.result(0, gather(node.emit(), x, fromStart(node.emit(), indices, shapeOf(x)[*axis], table), *axis));
}

static LogicalResult gatherNDRule(OpBinder &node) {
  FailureOr<SmallVector<Tensor>> coordinates = pointCoordinates(node, node.integer("batch_dims", 0));
  return failed(coordinates) ? failure() : node.result(0, gatherPoints(node.emit(), node.input(0), *coordinates));
}

static LogicalResult gatherElementsRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<ElementPlaces> places = elementPlaces(node);
  if (failed(places))
    return failure();
  // Whole rows, as a lookup: it may be split over ranks.
  if (places->rows)
    return node.result(0, gather(emit, x, places->rows, places->axis));
  if (isFloat(x) && places->isFew())
    return node.result(0, pick(emit, x, places->coordinates[places->axis], places->axis));
  return node.result(0, gatherPoints(emit, x, places->coordinates));
}

/// values [off, on]: one dimension more, on where its place is the index.
static LogicalResult oneHotRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor indices = node.input(0), values = node.input(2);
  // A count, of whatever type.
  std::optional<double> depth = knownSplat(node.input(1));
  if (!depth || cellsOf(shapeOf(node.input(1))) != 1)
    return node.error("the depth must be a number known at compile time");
  FailureOr<int64_t> axis = node.axis(node.integer("axis", -1), rankOf(indices) + 1);
  if (failed(axis))
    return failure();
  // Ids that are stored as floats.
  if (isFloat(indices))
    indices = emit.cast(indices, emit.getBuilder().getI64Type());
  if (!(*depth >= 1 && *depth <= kMostExactCount) || !indices || shapeOf(values) != ArrayRef<int64_t>{2})
    return node.error("must have a depth between 1 and " + Twine(kMostExactCount) + ", and two values");
  auto cell = [&](int64_t i) { return squeeze(emit, emit.slice(values, {i}, {1}, {1}), 0); };
  Tensor flags = oneHot(emit, fromStart(emit, indices, int64_t(*depth)), int64_t(*depth), *axis);
  return node.result(0, emit.select(flags, cell(1), cell(0)));
}

/// Ones on diagonal k of a matrix like operand 0.
static LogicalResult eyeLikeRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  if (rankOf(x) != 2)
    return node.error("must have two dimensions, got: " + Twine(rankOf(x)));
  Type element = elementOf(x);
  if (node.hasAttribute("dtype"))
    element = elementType(emit.getBuilder().getContext(), static_cast<int32_t>(node.integer("dtype", 0)));
  if (!element)
    return node.error("cannot make " + elementTypeName(static_cast<int32_t>(node.integer("dtype", 0))));
  auto places = RankedTensorType::get(shapeOf(x), emit.getBuilder().getI64Type());
  Tensor flags = emit.compare(graph::Predicate::eq, emit.affine(places, {node.integer("k", 0), {1, 0}}),
                              emit.affine(places, {0, {0, 1}}));
  return node.result(0, emit.cast(flags, element));
}

static LogicalResult triluRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  int64_t offset = 0;
  if (rankOf(x) < 2)
    return node.error("must have at least two dimensions");
  if (node.has(1)) {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(1);
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return node.error("the diagonal must be one number");
    offset = (*given)[0];
  }
  // Row i keeps column j where j >= i + k (upper) or j <= i + k.
  RankedTensorType type = RankedTensorType::get(shapeOf(x).take_back(2), emit.getBuilder().getI64Type());
  Tensor kept = emit.compare(node.integer("upper", 1) ? graph::Predicate::ge : graph::Predicate::le,
                             emit.affine(type, {0, {0, 1}}), emit.affine(type, {offset, {1, 0}}));
  if (elementOf(x).isInteger(1))
    return node.result(0, logicalAnd(emit, kept, x));
  return node.result(0, emit.select(kept, x, emit.scalar(0, elementOf(x))));
}

template <Tensor (*Running)(Emitter &, const Tensor &, int64_t, bool, bool)>
static LogicalResult runningRule(OpBinder &node) {
  Tensor x = node.input(0);
  FailureOr<SmallVector<int64_t>> given = node.constantIntegers(1);
  if (failed(given))
    return failure();
  if (given->size() != 1)
    return node.error("the axis must be one number");
  FailureOr<int64_t> axis = node.axis((*given)[0], rankOf(x));
  if (failed(axis))
    return failure();
  return node.result(0, Running(node.emit(), x, *axis, node.integer("exclusive", 0), node.integer("reverse", 0)));
}

/// Values and indices of the `count` largest cells along an axis, largest first.
static std::pair<Tensor, Tensor> largest(Emitter &emit, const Tensor &x, int64_t axis, int64_t count) {
  // The picked dimension last, and back.
  SmallVector<int64_t> turn = llvm::to_vector<6>(llvm::seq<int64_t>(0, rankOf(x)));
  std::swap(turn[axis], turn.back());
  Tensor turned = emit.transpose(x, turn);
  SmallVector<int64_t> shape(shapeOf(turned));
  shape.back() = count;
  auto values = RankedTensorType::get(shape, elementOf(x));
  auto indices = RankedTensorType::get(shape, emit.getBuilder().getI64Type());
  auto picked = graph::TopKOp::create(emit.getBuilder(), emit.getLoc(), TypeRange{values, indices}, emit.value(turned));
  auto back = [&](Value result) { return emit.transpose(emit.fromValue(result), turn); };
  return {back(picked.getValues()), back(picked.getIndices())};
}

/// Number of cells before each cell along an axis in descending order, in which equal integers keep their order. The
/// sum is one of floats, which kernels support and in which counts of cells are exact.
static Tensor numberBefore(Emitter &emit, const Tensor &x, int64_t axis) {
  SmallVector<int64_t> pairs(shapeOf(x));
  pairs.insert(pairs.begin() + axis + 1, pairs[axis]);
  Affine row{0, SmallVector<int64_t>(pairs.size(), 0)}, column = row;
  row.steps[axis] = column.steps[axis + 1] = 1;
  auto places = RankedTensorType::get(pairs, emit.getBuilder().getI64Type());
  Tensor self = unsqueeze(emit, x, axis + 1), other = unsqueeze(emit, x, axis);
  Tensor before = emit.compare(graph::Predicate::lt, emit.affine(places, column), emit.affine(places, row));
  Tensor beaten = logicalOr(emit, emit.compare(graph::Predicate::gt, other, self),
                            logicalAnd(emit, emit.compare(graph::Predicate::eq, other, self), before));
  return reduce(emit, Reduction::Sum, emit.cast(beaten, emit.getBuilder().getF32Type()), {axis + 1},
                /*keep=*/false);
}

/// The place of the first of the largest integers along an axis.
static Tensor placeOfLargestInteger(Emitter &emit, const Tensor &x, int64_t axis) {
  Type i64 = emit.getBuilder().getI64Type(), f32 = emit.getBuilder().getF32Type();
  Affine own{0, SmallVector<int64_t>(rankOf(x), 0)};
  own.steps[axis] = 1;
  Tensor zero = emit.scalar(0, f32), place = emit.cast(emit.affine(RankedTensorType::get(shapeOf(x), i64), own), f32);
  Tensor kept = emit.select(emit.compare(graph::Predicate::eq, numberBefore(emit, x, axis), zero), place, zero);
  return emit.cast(reduce(emit, Reduction::Sum, kept, {axis}, /*keep=*/true), i64);
}

/// ArgMax, and ArgMin as that of -x.
template <bool Least> static LogicalResult argRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 0), rankOf(x));
  if (failed(axis))
    return failure();
  if (!isFloat(x) && shapeOf(x)[*axis] > kMostCompared)
    return node.error("must be of floats, or of at most " + Twine(kMostCompared) + " integers");
  bool last = node.integer("select_last_index", 0) != 0;
  // The last of equal cells is the first from the end.
  if (last)
    x = reversed(emit, x, *axis);
  if (Least && x)
    x = emit.sub(emit.scalar(0, elementOf(x)), x);
  if (!x)
    return failure();
  Tensor place = isFloat(x) ? largest(emit, x, *axis, 1).second : placeOfLargestInteger(emit, x, *axis);
  if (last && place)
    place = emit.sub(emit.scalar(double(shapeOf(x)[*axis] - 1), elementOf(place)), place);
  return node.result(0, node.integer("keepdims", 1) || !place ? place : squeeze(emit, place, *axis));
}

/// 1 in the cell of the largest along the axis, the first of equal ones; else 0.
static LogicalResult hardmaxRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", node.opset() < 13 ? 1 : -1), rankOf(x));
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(shapeOf(x));
  Tensor cells = x;
  if (node.opset() < 13) {
    // All dimensions from the axis on together.
    cells = emit.reshape(x, {cellsOf(shapeOf(x).take_front(*axis)), cellsOf(shapeOf(x).drop_front(*axis))});
    axis = 1;
  }
  Tensor place = squeeze(emit, largest(emit, cells, *axis, 1).second, *axis);
  Tensor flags = place ? oneHot(emit, place, shapeOf(cells)[*axis], *axis) : nullptr;
  return node.result(0, emit.reshape(emit.cast(flags, elementOf(x)), shape));
}

/// The `count` largest integers along an axis and their places: the one that k others come before is the k-th.
static std::pair<Tensor, Tensor> largestIntegers(Emitter &emit, const Tensor &x, int64_t axis, int64_t count) {
  Type i64 = emit.getBuilder().getI64Type(), f32 = emit.getBuilder().getF32Type();
  Affine own{0, SmallVector<int64_t>(rankOf(x), 0)};
  own.steps[axis] = 1;
  Tensor rank = emit.cast(numberBefore(emit, x, axis), i64);
  // flags [.., k, i, ..]: whether cell i is the k-th.
  Tensor flags = oneHot(emit, rank, shapeOf(x)[axis], axis);
  flags = cut(emit, flags, axis, 0, count);
  Tensor place = emit.cast(emit.affine(RankedTensorType::get(shapeOf(x), i64), own), f32), zero = emit.scalar(0, f32);
  Tensor places = emit.cast(
      reduce(emit, Reduction::Sum, emit.select(flags, unsqueeze(emit, place, axis), zero), {axis + 1}, /*keep=*/false),
      i64);
  Tensor values = reduce(emit, Reduction::Sum,
                         emit.select(flags, unsqueeze(emit, x, axis), emit.scalar(0, elementOf(x))), {axis + 1},
                         /*keep=*/false);
  return {values, places};
}

static LogicalResult topKRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", -1), rankOf(x));
  // Before set 10 the number of cells is an attribute.
  FailureOr<SmallVector<int64_t>> given =
      node.opset() < 10 ? SmallVector<int64_t>{node.integer("k", 0)} : node.constantIntegers(1);
  if (failed(axis) || failed(given))
    return failure();
  int64_t count = shapeOf(x)[*axis];
  if (given->size() != 1 || (*given)[0] < 1 || (*given)[0] > count)
    return node.error("must pick between 1 and " + Twine(count) + " cells");
  if (!isFloat(x) && count > kMostCompared)
    return node.error("must be of floats, or of at most " + Twine(kMostCompared) + " integers");
  // The smallest are the largest of -x.
  bool least = !node.integer("largest", 1);
  auto negated = [&](const Tensor &y) { return y ? emit.sub(emit.scalar(0, elementOf(y)), y) : y; };
  Tensor cells = least ? negated(x) : x;
  auto [values, indices] =
      isFloat(x) ? largest(emit, cells, *axis, (*given)[0]) : largestIntegers(emit, cells, *axis, (*given)[0]);
  if (node.wants(0) && failed(node.result(0, least ? negated(values) : values)))
    return failure();
  return node.wants(1) ? node.result(1, indices) : success();
}

void dtcc::onnx::addIndexingRules(RuleTable &table) {
  table.on("Gather", 1, {2, 2}, gatherRule).keepsUnsigned();
  table.on("GatherND", 11, {2, 2}, gatherNDRule).keepsUnsigned();
  table.on("GatherElements", 11, {2, 2}, gatherElementsRule).keepsUnsigned();
  table.on("Trilu", 14, {1, 2}, triluRule).keepsUnsigned();
  table.on("CumSum", 11, {2, 2}, runningRule<cumsum>).wrapsUnsigned();
  table.on("CumProd", 26, {2, 2}, runningRule<cumprod>);
  table.on("OneHot", 9, {3, 3}, oneHotRule).readsUnsigned();
  table.on("EyeLike", 9, {1, 1}, eyeLikeRule).keepsUnsigned();
  table.on("ArgMax", 1, {1, 1}, argRule<false>).readsUnsigned();
  table.on("ArgMin", 1, {1, 1}, argRule<true>).readsUnsigned();
  table.on("TopK", 1, {1, 1}, topKRule);
  table.on("TopK", 10, {2, 2}, topKRule);
  table.on("Hardmax", 1, {1, 1}, ofFloats<hardmaxRule>);
}
