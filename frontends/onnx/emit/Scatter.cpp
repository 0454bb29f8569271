//===- Scatter.cpp - Cells that are written
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Scatter.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Folds.h"
#include "frontends/onnx/emit/Indexing.h"
#include "frontends/onnx/emit/Logic.h"
#include "frontends/onnx/emit/PointPlaces.h"
#include "frontends/onnx/emit/Reductions.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// Writes `patch` over the cells of `x` from `offsets` on, dimension by dimension.
static Tensor overwrite(Emitter &emit, const Tensor &x, const Tensor &patch, ArrayRef<int64_t> offsets) {
  if (!x || !patch)
    return nullptr;
  int64_t rank = rankOf(x), dim = 0;
  while (dim < rank && shapeOf(x)[dim] == shapeOf(patch)[dim])
    ++dim;
  if (dim == rank)
    return patch;
  auto cut = [&](int64_t from, int64_t to) {
    SmallVector<int64_t> starts(rank, 0), sizes(shapeOf(x)), steps(rank, 1);
    starts[dim] = from, sizes[dim] = to - from;
    return emit.slice(x, starts, sizes, steps);
  };
  int64_t low = offsets[dim], high = low + shapeOf(patch)[dim];
  return emit.concat({cut(0, low), overwrite(emit, cut(low, high), patch, offsets), cut(high, shapeOf(x)[dim])}, dim);
}

namespace {
/// Cells that lie together: where, how large, and which dimension of the points walks each of its dimensions.
struct Box {
  SmallVector<int64_t> offsets, sizes, turn;
};
} // namespace

/// The box that the coordinates walk: each stays, or walks one dimension of the points by ones; together they walk all.
static std::optional<Box> boxOf(const Tensor &x, ArrayRef<Tensor> coordinates) {
  int64_t points = rankOf(coordinates[0]);
  Box box{SmallVector<int64_t>(rankOf(x), 0), SmallVector<int64_t>(shapeOf(x)), {}};
  for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
    std::optional<Affine> at = knownAffine(coordinate);
    int64_t walked = -1;
    for (int64_t dim = 0; at && dim < points; ++dim)
      if (shapeOf(coordinate)[dim] > 1 && at->steps[dim] != 0) {
        if (at->steps[dim] != 1 || walked >= 0 || llvm::is_contained(box.turn, dim))
          at.reset();
        else
          walked = dim;
      }
    if (!at)
      return std::nullopt;
    box.sizes[i] = walked < 0 ? 1 : shapeOf(coordinate)[walked];
    box.offsets[i] = at->offset;
    if (walked >= 0)
      box.turn.push_back(walked);
  }
  for (int64_t dim = 0; dim < points; ++dim)
    if (!llvm::is_contained(box.turn, dim)) {
      if (shapeOf(coordinates[0])[dim] > 1)
        return std::nullopt;
      box.turn.push_back(dim);
    }
  return box;
}

static Tensor combined(Emitter &emit, const Tensor &x, const Tensor &y, ScatterKind kind) {
  switch (kind) {
  case ScatterKind::replace:
    return y;
  case ScatterKind::add:
    return emit.add(x, y);
  case ScatterKind::mul:
    return emit.mul(x, y);
  case ScatterKind::max:
    return emit.binary<graph::MaxOp>(x, y);
  case ScatterKind::min:
    return emit.binary<graph::MinOp>(x, y);
  }
  llvm_unreachable("unknown kind of write");
}

/// The cell that changes nothing when it is combined with another.
static Tensor neutralCell(Emitter &emit, Type element, ScatterKind kind) {
  const double most = std::numeric_limits<double>::infinity();
  if (kind != ScatterKind::max && kind != ScatterKind::min)
    return emit.scalar(kind == ScatterKind::mul ? 1 : 0, element);
  if (isa<FloatType>(element))
    return emit.scalar(kind == ScatterKind::max ? -most : most, element);
  const unsigned bits = element.getIntOrFloatBitWidth();
  const int64_t least = bits == 1 ? 0 : llvm::minIntN(bits), greatest = bits == 1 ? 1 : llvm::maxIntN(bits);
  return emit.affine(RankedTensorType::get({}, element), {kind == ScatterKind::max ? least : greatest, {}});
}

/// x [.., a, ..] with updates [.., p, 1, ..] written to where hits [.., p, a, ..] hold; p is dimension `axis`.
static Tensor placeHits(Emitter &emit, const Tensor &x, const Tensor &hits, const Tensor &updates, int64_t axis,
                        ScatterKind kind) {
  if (!x || !hits || !updates)
    return nullptr;
  Type f32 = emit.getBuilder().getF32Type();
  auto over = [&](Reduction reduction, const Tensor &cells) {
    return reduce(emit, reduction, cells, {axis}, /*keep=*/false);
  };
  Tensor terms = emit.select(hits, updates, neutralCell(emit, elementOf(updates), kind));
  if (kind == ScatterKind::add)
    return emit.add(x, over(Reduction::Sum, terms));
  if (kind == ScatterKind::max || kind == ScatterKind::min)
    return combined(emit, x, over(kind == ScatterKind::max ? Reduction::Max : Reduction::Min, terms), kind);
  if (kind == ScatterKind::mul)
    return emit.mul(x, product(emit, terms, {axis}, /*keep=*/false));
  // The number of the last update of each cell, from 1; 0: there is none. f32 counts so far exactly.
  auto places = RankedTensorType::get(shapeOf(hits), emit.getBuilder().getI64Type());
  Affine number{1, SmallVector<int64_t>(rankOf(hits), 0)};
  number.steps[axis] = 1;
  Tensor numbers = emit.cast(emit.affine(places, number), f32), zero = emit.scalar(0, f32);
  Tensor last = over(Reduction::Max, emit.select(hits, numbers, zero));
  Tensor written = emit.compare(graph::Predicate::gt, last, zero);
  if (std::optional<double> cell = knownSplat(updates))
    return emit.select(written, emit.scalar(*cell, elementOf(x)), x);
  Tensor wins = logicalAnd(emit, hits, emit.compare(graph::Predicate::eq, numbers, unsqueeze(emit, last, axis)));
  bool flags = elementOf(updates).isInteger(1);
  Tensor cells = flags ? emit.cast(updates, f32) : updates;
  Tensor placed = over(Reduction::Sum, emit.select(wins, cells, emit.scalar(0, elementOf(cells))));
  return emit.select(written, flags ? emit.cast(placed, elementOf(x)) : placed, x);
}

Tensor dtcc::onnx::place(Emitter &emit, const Tensor &x, const Tensor &indices, const Tensor &updates, int64_t axis,
                         ScatterKind kind) {
  if (!x || !indices || !updates)
    return nullptr;
  return placeHits(emit, x, oneHot(emit, indices, shapeOf(x)[axis], axis + 1), unsqueeze(emit, updates, axis + 1), axis,
                   kind);
}

/// Whether all cells along a dimension are equal, by how the value is made.
static bool isEvenAlong(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<graph::BroadcastOp>(op)) {
    const auto *at = llvm::find(broadcast.getDims(), dim);
    return at == broadcast.getDims().end() || isEvenAlong(broadcast.getX(), at - broadcast.getDims().begin());
  }
  if (auto constant = dyn_cast_or_null<graph::ConstantOp>(op))
    return constant.getValue().isSplat();
  return isa_and_nonnull<graph::ElementwiseOpInterface>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isEvenAlong(operand, dim); });
}

/// Floats written or added to places that the data tell. A place that is written twice holds the sum: ONNX leaves it
/// open.
static Tensor scatterRows(Emitter &emit, const Tensor &x, ArrayRef<Tensor> given, const Tensor &updates, bool adds) {
  SmallVector<Tensor> coordinates(given);
  // The last coordinate may walk a dimension of its own, as that of an index repeated over channels: a row is written.
  while (coordinates.size() > 1) {
    int64_t last = rankOf(coordinates.back()) - 1;
    ArrayRef<Tensor> others = ArrayRef(coordinates).drop_back();
    if (wholeWalk(coordinates.back(), shapeOf(x)[coordinates.size() - 1]) != last ||
        !llvm::all_of(others, [&](const Tensor &each) { return isEvenAlong(emit.value(each), last); }))
      break;
    coordinates.pop_back();
    for (Tensor &each : coordinates) {
      SmallVector<int64_t> offsets(last + 1, 0), shape(shapeOf(each)), steps(last + 1, 1);
      shape[last] = 1;
      each = squeeze(emit, emit.slice(each, offsets, shape, steps), last);
    }
  }
  int64_t count = coordinates.size();
  SmallVector<int64_t> rows = {cellsOf(shapeOf(x).take_front(count))}, points(shapeOf(coordinates[0]));
  rows.append(shapeOf(x).begin() + count, shapeOf(x).end());
  SmallVector<int64_t> wanted = points;
  wanted.append(rows.begin() + 1, rows.end());
  if (shapeOf(updates) != ArrayRef(wanted))
    return emit.error("what is written must have a cell for each that the indices name");
  Tensor place = flatPlace(emit, x, coordinates);
  auto sums = [&](const Tensor &cells, ArrayRef<int64_t> shape) {
    Type type = RankedTensorType::get(shape, elementOf(x));
    return emit.finish(graph::ScatterAddOp::create(emit.getBuilder(), emit.getLoc(), type, emit.value(cells),
                                                   emit.value(place), emit.getBuilder().getI64IntegerAttr(-1), nullptr),
                       {cells, place});
  };
  Tensor sum = emit.reshape(sums(updates, rows), shapeOf(x));
  if (adds)
    return emit.add(x, sum);
  Tensor one = emit.broadcastTo(emit.scalar(1, elementOf(x)), points);
  SmallVector<int64_t> flags(shapeOf(x).take_front(count));
  flags.resize(rankOf(x), 1);
  Tensor written = emit.compare(graph::Predicate::gt, sums(one, rows[0]), emit.scalar(0, elementOf(x)));
  return emit.select(emit.reshape(written, flags), sum, x);
}

Tensor dtcc::onnx::scatterPoints(Emitter &emit, const Tensor &x, ArrayRef<Tensor> coordinates, const Tensor &updates,
                                 ScatterKind kind) {
  if (!x || !updates || llvm::is_contained(coordinates, nullptr))
    return nullptr;
  int64_t count = coordinates.size(), points = rankOf(coordinates[0]);
  int64_t named = cellsOf(shapeOf(coordinates[0])), rest = cellsOf(shapeOf(x).drop_front(count));
  if (rankOf(updates) != points + rankOf(x) - count || cellsOf(shapeOf(updates)) != named * rest)
    return emit.error("what is written must have a cell for each that the indices name");
  if (std::optional<Box> box = boxOf(x, coordinates)) {
    for (auto [dim, offset, size] : llvm::enumerate(box->offsets, box->sizes))
      if (offset < 0 || offset + size > shapeOf(x)[dim])
        return emit.error("what is written must lie within the " + Twine(shapeOf(x)[dim]) + " cells of dimension " +
                          Twine(dim) + ", got: " + Twine(offset) + " to " + Twine(offset + size));
    llvm::append_range(box->turn, llvm::seq(points, rankOf(updates)));
    Tensor patch = emit.reshape(emit.transpose(updates, box->turn), box->sizes);
    Tensor old = emit.slice(x, box->offsets, box->sizes, SmallVector<int64_t>(rankOf(x), 1));
    return overwrite(emit, x, combined(emit, old, patch, kind), box->offsets);
  }
  // Sums go to the rows that the data tell; so do too many cells to compare. Else every point is compared with every
  // row of the flattened dimensions.
  int64_t rows = cellsOf(shapeOf(x).take_front(count));
  bool few =
      named <= kMostPairs / std::max<int64_t>(rows, 1) && named * rows <= kMostPairs / std::max<int64_t>(rest, 1);
  bool adds = kind == ScatterKind::add;
  if (isFloat(x) && (adds || (kind == ScatterKind::replace && !few))) {
    // With fewer cells the last write stays. ONNX leaves the case open, so a model that writes twice is told.
    if (!adds)
      emitRemark(emit.getLoc())
          << "too many cells are written to compare each with each position: a position that is written "
             "twice holds the sum of its values";
    return scatterRows(emit, x, coordinates, updates, adds);
  }
  if (!few)
    return emit.error("where only the data tell which cells are written, each of " + Twine(named) +
                      " points is compared with each of " + Twine(rows) + " rows of " + Twine(rest) +
                      " cells: at most " + Twine(kMostPairs) + " together are supported");
  Tensor flat = emit.reshape(x, {rows, rest}), cells = emit.reshape(updates, {named, rest});
  Tensor hits = oneHot(emit, emit.reshape(flatPlace(emit, x, coordinates), {named}), rows, 1);
  Tensor result = placeHits(emit, flat, unsqueeze(emit, hits, 2), unsqueeze(emit, cells, 1), 0, kind);
  return emit.reshape(result, shapeOf(x));
}
