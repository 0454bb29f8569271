//===- ops/Indexing.cpp - Gathers, scatters, picks, triangles and running sums
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"

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

/// Indices counted from the end become counted from the start. `checked`: values that are not known now come from an
/// input whose bounds the runtime checks.
static Tensor fromStart(Emitter &emit, const Tensor &indices, int64_t size, bool checked = false) {
  if (std::shared_ptr<const HostTensor> cells = indices->constant) {
    HostTensor moved = *cells;
    for (int64_t &cell : moved.ints) {
      if (cell < -size || cell >= size)
        return emit.error("an index must be within the " + Twine(size) + " cells of the axis, got: " + Twine(cell));
      cell = cell < 0 ? cell + size : cell;
    }
    return emit.constant(std::move(moved));
  }
  if (std::optional<Affine> at = emit.knownAffine(indices)) {
    int64_t low = at->offset, high = at->offset;
    for (auto [step, count] : llvm::zip_equal(at->steps, shapeOf(indices)))
      (step < 0 ? low : high) += step * std::max<int64_t>(count - 1, 0);
    if (high < 0 && low + size >= 0) {
      at->offset += size;
      return emit.affine(indices->type, *at);
    }
    if (low < 0 || high >= size)
      return emit.error("positions must be within the " + Twine(size) +
                        " rows of the table, got: " + Twine(low < 0 ? low : high));
    return indices;
  }
  if (checked || isPickOf(indices, size))
    return indices;
  Tensor zero = emit.scalar(0, elementOf(indices)), count = emit.scalar(double(size), elementOf(indices));
  return emit.select(emit.compare(graph::Predicate::lt, indices, zero), emit.add(indices, count), indices);
}

static LogicalResult gatherRule(OpBinder &node) {
  Tensor x = node.input(0), indices = node.input(1);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 0), rankOf(x));
  if (failed(axis))
    return failure();
  if (isFloat(indices))
    return node.error("indices must be integers");
  bool table = x->value && x->value.getDefiningOp<graph::ReadOp>() && *axis == 0 && rankOf(x) == 2;
  return node.result(0, node.emit().gather(x, fromStart(node.emit(), indices, shapeOf(x)[*axis], table), *axis));
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
    result.push_back(emit.squeeze(emit.slice(indices, offsets, shape, strides), rankOf(indices) - 1));
  }
  return result;
}

/// The coordinates of the places in operand 0 that the last dimension of operand 1 lists.
static FailureOr<SmallVector<Tensor>> pointCoordinates(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), indices = node.input(1);
  if (rankOf(indices) < 1 || isFloat(indices) || shapeOf(indices).back() < 1 || shapeOf(indices).back() > rankOf(x))
    return node.error("indices must be integers whose last dimension is at least 1 and at most the rank of the data");
  SmallVector<Tensor> coordinates;
  for (auto [i, coordinate] : llvm::enumerate(coordinatesOf(emit, indices))) {
    coordinates.push_back(fromStart(emit, coordinate, shapeOf(x)[i]));
    if (!coordinates.back())
      return failure();
  }
  return coordinates;
}

static LogicalResult gatherNDRule(OpBinder &node) {
  if (node.integer("batch_dims", 0) != 0)
    return node.error("batch_dims must be 0, got: " + Twine(node.integer("batch_dims", 0)));
  FailureOr<SmallVector<Tensor>> coordinates = pointCoordinates(node);
  return failed(coordinates) ? failure() : node.result(0, node.emit().gatherPoints(node.input(0), *coordinates));
}

/// The coordinates of the cells that indices [i..] name in operand 0 [n..]: their own, but along `axis`.
static FailureOr<SmallVector<Tensor>> elementCoordinates(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), indices = node.input(1);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 0), rankOf(x));
  if (failed(axis))
    return failure();
  if (isFloat(indices) || rankOf(indices) != rankOf(x))
    return node.error("indices must be integers of the data's rank");
  SmallVector<Tensor> coordinates;
  for (int64_t dim = 0; dim < rankOf(x); ++dim) {
    if (dim != *axis && shapeOf(indices)[dim] > shapeOf(x)[dim])
      return node.error("indices must not be larger than the data");
    Affine own{0, SmallVector<int64_t>(rankOf(x), 0)};
    own.steps[dim] = 1;
    coordinates.push_back(dim == *axis ? fromStart(emit, indices, shapeOf(x)[dim]) : emit.affine(indices->type, own));
  }
  return coordinates;
}

/// Most cells that are compared, for one row along the axis, to pick a few or to write to them.
static constexpr int64_t kMostCompared = 4096;

/// The axis along which indices that only the data tell name few cells of each row. Comparing them with all places
/// keeps rows apart, so that ranks may hold rows of their own; flattened dimensions would not. (A router's picks.)
static std::optional<int64_t> comparedAxis(OpBinder &node, ArrayRef<Tensor> coordinates) {
  Tensor x = node.input(0), indices = node.input(1);
  int64_t axis = *node.axis(node.integer("axis", 0), rankOf(x));
  SmallVector<int64_t> rows(shapeOf(x)), named(shapeOf(indices));
  bool few = named[axis] * rows[axis] <= kMostCompared;
  rows[axis] = named[axis] = 0;
  return few && rows == named && !node.emit().knownAffine(coordinates[axis]) ? std::optional(axis) : std::nullopt;
}

static LogicalResult gatherElementsRule(OpBinder &node) {
  FailureOr<SmallVector<Tensor>> coordinates = elementCoordinates(node);
  if (succeeded(coordinates) && isFloat(node.input(0)))
    if (std::optional<int64_t> axis = comparedAxis(node, *coordinates))
      return node.result(0, node.emit().pick(node.input(0), (*coordinates)[*axis], *axis));
  return failed(coordinates) ? failure() : node.result(0, node.emit().gatherPoints(node.input(0), *coordinates));
}

/// Operand 0 with operand 2 written into the cells that `coordinates` name.
static LogicalResult scatter(OpBinder &node, ArrayRef<Tensor> coordinates) {
  Emitter &emit = node.emit();
  std::string reduction = node.text("reduction", "none");
  auto add = [&](const Tensor &x, const Tensor &y) { return emit.add(x, y); };
  auto mul = [&](const Tensor &x, const Tensor &y) { return emit.mul(x, y); };
  auto max = [&](const Tensor &x, const Tensor &y) { return emit.binary<graph::MaxOp>(x, y); };
  auto min = [&](const Tensor &x, const Tensor &y) { return emit.binary<graph::MinOp>(x, y); };
  llvm::function_ref<Tensor(const Tensor &, const Tensor &)> combine;
  if (reduction == "add")
    combine = add;
  else if (reduction == "mul")
    combine = mul;
  else if (reduction == "max")
    combine = max;
  else if (reduction == "min")
    combine = min;
  else if (reduction != "none")
    return node.error("reduction must be none, add, mul, max or min, got: " + reduction);
  return node.result(0, emit.scatterPoints(node.input(0), coordinates, node.input(2), combine, reduction == "add"));
}

static LogicalResult scatterElementsRule(OpBinder &node) {
  FailureOr<SmallVector<Tensor>> coordinates = elementCoordinates(node);
  if (failed(coordinates))
    return failure();
  if (shapeOf(node.input(2)) != shapeOf(node.input(1)))
    return node.error("updates must have the shape of the indices");
  std::string reduction = node.text("reduction", "none");
  if (reduction == "none" || (reduction == "add" && isFloat(node.input(0))))
    if (std::optional<int64_t> axis = comparedAxis(node, *coordinates))
      return node.result(
          0, node.emit().place(node.input(0), (*coordinates)[*axis], node.input(2), *axis, reduction == "add"));
  return scatter(node, *coordinates);
}

static LogicalResult scatterNDRule(OpBinder &node) {
  FailureOr<SmallVector<Tensor>> coordinates = pointCoordinates(node);
  return failed(coordinates) ? failure() : scatter(node, *coordinates);
}

/// values [off, on]: one dimension more, on where its place is the index.
static LogicalResult oneHotRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor indices = node.input(0), values = node.input(2);
  FailureOr<SmallVector<int64_t>> depth = node.constantIntegers(1);
  if (failed(depth))
    return failure();
  FailureOr<int64_t> axis = node.axis(node.integer("axis", -1), rankOf(indices) + 1);
  if (failed(axis))
    return failure();
  if (depth->size() != 1 || (*depth)[0] < 1 || (*depth)[0] > kMostExactCount || isFloat(indices) ||
      shapeOf(values) != ArrayRef<int64_t>{2})
    return node.error("must have integer indices, a depth between 1 and " + Twine(kMostExactCount) +
                      ", and two values");
  auto cell = [&](int64_t i) { return emit.squeeze(emit.slice(values, {i}, {1}, {1}), 0); };
  Tensor flags = emit.oneHot(fromStart(emit, indices, (*depth)[0]), (*depth)[0], *axis);
  return node.result(0, emit.select(flags, cell(1), cell(0)));
}

/// Ones on diagonal k of a matrix like operand 0.
static LogicalResult eyeLikeRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  if (rankOf(x) != 2 || node.hasAttribute("dtype"))
    return node.error("must have two dimensions and no dtype of its own");
  auto places = RankedTensorType::get(shapeOf(x), emit.getBuilder().getI64Type());
  Tensor flags = emit.compare(graph::Predicate::eq, emit.affine(places, {node.integer("k", 0), {1, 0}}),
                              emit.affine(places, {0, {0, 1}}));
  return node.result(0, emit.cast(flags, elementOf(x)));
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
    return node.result(0, emit.logicalAnd(kept, x));
  return node.result(0, emit.select(kept, x, emit.scalar(0, elementOf(x))));
}

static LogicalResult cumsumRule(OpBinder &node) {
  Tensor x = node.input(0);
  FailureOr<SmallVector<int64_t>> given = node.constantIntegers(1);
  if (failed(given))
    return failure();
  if (given->size() != 1)
    return node.error("the axis must be one number");
  FailureOr<int64_t> axis = node.axis((*given)[0], rankOf(x));
  if (failed(axis))
    return failure();
  return node.result(0, node.emit().cumsum(x, *axis, node.integer("exclusive", 0), node.integer("reverse", 0)));
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

/// The place of the first of the largest integers along an axis: that which none before is as large as and none is
/// larger than. Kernels sum floats alone, in which counts of cells are exact.
static Tensor placeOfLargestInteger(Emitter &emit, const Tensor &x, int64_t axis) {
  SmallVector<int64_t> pairs(shapeOf(x));
  pairs.insert(pairs.begin() + axis + 1, pairs[axis]);
  Affine row{0, SmallVector<int64_t>(pairs.size(), 0)}, column = row, own{0, SmallVector<int64_t>(rankOf(x), 0)};
  row.steps[axis] = column.steps[axis + 1] = own.steps[axis] = 1;
  Type i64 = emit.getBuilder().getI64Type(), f32 = emit.getBuilder().getF32Type();
  auto places = RankedTensorType::get(pairs, i64);
  Tensor self = emit.unsqueeze(x, axis + 1), other = emit.unsqueeze(x, axis);
  Tensor before = emit.compare(graph::Predicate::lt, emit.affine(places, column), emit.affine(places, row));
  Tensor beaten = emit.logicalOr(emit.compare(graph::Predicate::gt, other, self),
                                 emit.logicalAnd(emit.compare(graph::Predicate::eq, other, self), before));
  Tensor zero = emit.scalar(0, f32);
  Tensor count = emit.reduce(graph::ReduceKind::sum, emit.cast(beaten, f32), {axis + 1}, /*keep=*/false);
  Tensor place = emit.cast(emit.affine(RankedTensorType::get(shapeOf(x), i64), own), f32);
  Tensor kept = emit.select(emit.compare(graph::Predicate::eq, count, zero), place, zero);
  return emit.cast(emit.reduce(graph::ReduceKind::sum, kept, {axis}, /*keep=*/true), i64);
}

/// ArgMax, and ArgMin as that of -x.
template <bool Least> static LogicalResult argRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 0), rankOf(x));
  if (failed(axis))
    return failure();
  if (node.integer("select_last_index", 0))
    return node.error("of equal cells the first is taken: select_last_index must be 0");
  if (!isFloat(x) && shapeOf(x)[*axis] > kMostCompared)
    return node.error("must be of floats, or of at most " + Twine(kMostCompared) + " integers");
  if (Least)
    x = emit.sub(emit.scalar(0, elementOf(x)), x);
  Tensor place = isFloat(x) ? largest(emit, x, *axis, 1).second : placeOfLargestInteger(emit, x, *axis);
  return node.result(0, node.integer("keepdims", 1) || !place ? place : emit.squeeze(place, *axis));
}

static LogicalResult topKRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", -1), rankOf(x));
  FailureOr<SmallVector<int64_t>> given = node.constantIntegers(1);
  if (failed(axis) || failed(given))
    return failure();
  int64_t count = shapeOf(x)[*axis];
  if (given->size() != 1 || (*given)[0] < 1 || (*given)[0] > count)
    return node.error("must pick between 1 and " + Twine(count) + " cells");
  if (!node.integer("largest", 1))
    return node.error("largest must be 1, got: 0");
  auto [values, indices] = largest(emit, x, *axis, (*given)[0]);
  if (node.wants(0) && failed(node.result(0, values)))
    return failure();
  return node.wants(1) ? node.result(1, indices) : success();
}

void dtcc::onnx::addIndexingRules(RuleTable &table) {
  table.on("Gather", 1, {2, 2}, gatherRule);
  table.on("GatherND", 11, {2, 2}, gatherNDRule);
  table.on("GatherElements", 11, {2, 2}, gatherElementsRule);
  table.on("ScatterND", 11, {3, 3}, scatterNDRule);
  table.on("ScatterElements", 11, {3, 3}, scatterElementsRule);
  table.on("Trilu", 14, {1, 2}, triluRule);
  table.on("CumSum", 11, {2, 2}, cumsumRule);
  table.on("OneHot", 9, {3, 3}, oneHotRule);
  table.on("EyeLike", 9, {1, 1}, eyeLikeRule);
  table.on("ArgMax", 1, {1, 1}, argRule<false>);
  table.on("ArgMin", 1, {1, 1}, argRule<true>);
  table.on("TopK", 10, {2, 2}, ofFloats<topKRule>);
}
