//===- EmitterIndexing.cpp - Gathers, scatters and running sums
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most indices of an exported model are positions that somebody wrote as numbers. What
// they read or write is then a slice, a transpose or a join, which have gradients and
// can be split; gathers remain where only the data tell.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Emitter.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// The distance of neighbours if the positions count through a stretch of cells in row-major order, or 0.
static int64_t evenSteps(const Affine &at, ArrayRef<int64_t> shape) {
  int64_t step = 0, cells = 1;
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    if (shape[dim] == 1)
      continue;
    if (step == 0)
      step = at.steps[dim];
    if (step < 1 || at.steps[dim] != step * cells)
      return 0;
    cells *= shape[dim];
  }
  return std::max<int64_t>(step, 1);
}

Tensor Emitter::gather(const Tensor &x, const Tensor &indices, int64_t axis) {
  if (!x || !indices)
    return nullptr;
  SmallVector<int64_t> shape(shapeOf(x).take_front(axis));
  shape.append(shapeOf(indices).begin(), shapeOf(indices).end());
  shape.append(shapeOf(x).begin() + axis + 1, shapeOf(x).end());
  // Rows of a parameter are looked up, wherever they lie: a lookup may be split by rows.
  bool table = axis == 0 && rankOf(x) == 2 && isFloat(x) && x->value && x->value.getDefiningOp<graph::ReadOp>();
  if (std::optional<Affine> at = knownAffine(indices)) {
    // A plain index along positions, and a cut out of anything at one place.
    if (std::optional<Affine> cells = isFloat(x) || x->constant ? std::nullopt : knownAffine(x)) {
      Affine result{cells->offset + at->offset * cells->steps[axis], {}};
      result.steps.append(cells->steps.begin(), cells->steps.begin() + axis);
      for (int64_t step : at->steps)
        result.steps.push_back(step * cells->steps[axis]);
      result.steps.append(cells->steps.begin() + axis + 1, cells->steps.end());
      return affine(typeLike(x, shape), result);
    }
    // Evenly spaced: a slice, what torch.as_strided reads of a tensor in one piece among them.
    int64_t step = evenSteps(*at, shapeOf(indices)), cells = cellsOf(shapeOf(indices));
    if (!x->constant && step > 0 && (table ? cells == 1 : cells > 0)) {
      SmallVector<int64_t> offsets(rankOf(x), 0), sizes(shapeOf(x)), strides(rankOf(x), 1);
      offsets[axis] = at->offset, sizes[axis] = cells, strides[axis] = step;
      int64_t last = at->offset + (cells - 1) * step;
      if (at->offset < 0 || last >= shapeOf(x)[axis])
        return error("index must be within the " + Twine(shapeOf(x)[axis]) +
                     " cells of the axis, got: " + Twine(at->offset < 0 ? at->offset : last));
      return reshape(slice(x, offsets, sizes, strides), shape);
    }
  }
  Value operand = value(x);
  if (table)
    return fromValue(graph::EmbeddingOp::create(builder, loc, typeLike(x, shape), operand, value(indices),
                                                builder.getI64IntegerAttr(-1), nullptr));
  return finish(graph::GatherOp::create(builder, loc, typeLike(x, shape), operand, value(indices), axis), {x, indices});
}

/// The dimension along which a coordinate walks all `size` cells in order, or -1.
static int64_t wholeWalk(Emitter &emitter, const Tensor &coordinate, int64_t size) {
  std::optional<Affine> at = emitter.knownAffine(coordinate);
  if (!at || at->offset != 0)
    return -1;
  int64_t found = -1;
  for (auto [dim, step] : llvm::enumerate(at->steps)) {
    if (step == 0)
      continue;
    if (step != 1 || found >= 0 || shapeOf(coordinate)[dim] != size)
      return -1;
    found = dim;
  }
  return found;
}

/// The row-major place of coordinates in the first dimensions of `x`.
static Tensor flatPlace(Emitter &emit, const Tensor &x, ArrayRef<Tensor> coordinates) {
  Tensor place = coordinates[0];
  for (size_t i = 1; i < coordinates.size(); ++i)
    place = emit.add(emit.mul(place, emit.scalar(double(shapeOf(x)[i]), elementOf(place))), coordinates[i]);
  return place;
}

Tensor Emitter::gatherPoints(const Tensor &x, ArrayRef<Tensor> coordinates) {
  if (!x || llvm::is_contained(coordinates, nullptr))
    return nullptr;
  int64_t count = coordinates.size();
  ArrayRef<int64_t> points = shapeOf(coordinates[0]), rest = shapeOf(x).drop_front(count);
  SmallVector<int64_t> shape(points);
  shape.append(rest.begin(), rest.end());
  if (std::optional<Affine> cells = isFloat(x) ? std::nullopt : knownAffine(x)) {
    Affine result{cells->offset, SmallVector<int64_t>(points.size(), 0)};
    bool composed = true;
    for (int64_t i = 0; i < count; ++i) {
      std::optional<Affine> at = knownAffine(coordinates[i]);
      if (cells->steps[i] == 0)
        continue;
      composed &= at.has_value();
      if (!at)
        break;
      result.offset += at->offset * cells->steps[i];
      for (auto [sum, step] : llvm::zip_equal(result.steps, at->steps))
        sum += step * cells->steps[i];
    }
    if (composed) {
      result.steps.append(cells->steps.begin() + count, cells->steps.end());
      return affine(typeLike(x, shape), result);
    }
  }
  // Coordinates that walk whole dimensions: a transpose and a broadcast.
  SmallVector<int64_t> walks;
  for (int64_t i = 0; i < count; ++i)
    walks.push_back(wholeWalk(*this, coordinates[i], shapeOf(x)[i]));
  if (!llvm::is_contained(walks, -1) &&
      llvm::SmallDenseSet<int64_t>(walks.begin(), walks.end()).size() == walks.size()) {
    SmallVector<int64_t> permutation = llvm::to_vector<6>(llvm::seq<int64_t>(0, rankOf(x))), dims;
    llvm::sort(MutableArrayRef(permutation).take_front(count),
               [&](int64_t a, int64_t b) { return walks[a] < walks[b]; });
    for (int64_t i = 0; i < count; ++i)
      dims.push_back(walks[permutation[i]]);
    for (size_t i = 0; i < rest.size(); ++i)
      dims.push_back(points.size() + i);
    Tensor turned = transpose(x, permutation);
    if (turned->type.getRank() == int64_t(shape.size()))
      return turned;
    return finish(graph::BroadcastOp::create(builder, loc, typeLike(x, shape), value(turned), dims), {turned});
  }
  // In general: rows of the flattened dimensions.
  SmallVector<int64_t> flat = {cellsOf(shapeOf(x).take_front(count))};
  flat.append(rest.begin(), rest.end());
  return gather(reshape(x, flat), flatPlace(*this, x, coordinates), 0);
}

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
    if (wholeWalk(emit, coordinates.back(), shapeOf(x)[coordinates.size() - 1]) != last ||
        !llvm::all_of(others, [&](const Tensor &each) { return isEvenAlong(emit.value(each), last); }))
      break;
    coordinates.pop_back();
    for (Tensor &each : coordinates) {
      SmallVector<int64_t> offsets(last + 1, 0), shape(shapeOf(each)), steps(last + 1, 1);
      shape[last] = 1;
      each = emit.squeeze(emit.slice(each, offsets, shape, steps), last);
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

Tensor Emitter::scatterPoints(const Tensor &x, ArrayRef<Tensor> coordinates, const Tensor &updates,
                              llvm::function_ref<Tensor(const Tensor &, const Tensor &)> combine, bool adds) {
  if (!x || !updates || llvm::is_contained(coordinates, nullptr))
    return nullptr;
  auto elsewhere = [&](const Twine &reason) {
    bool isSum = isFloat(x) && (!combine || adds);
    return isSum ? scatterRows(*this, x, coordinates, updates, adds) : error(reason);
  };
  int64_t count = coordinates.size(), points = rankOf(coordinates[0]);
  // Each coordinate stays, or walks one dimension of the points by ones; together they walk all: a box.
  SmallVector<int64_t> offsets(rankOf(x), 0), box(shapeOf(x)), turn;
  for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
    std::optional<Affine> at = knownAffine(coordinate);
    int64_t walked = -1;
    for (int64_t dim = 0; at && dim < points; ++dim)
      if (shapeOf(coordinate)[dim] > 1 && at->steps[dim] != 0) {
        if (at->steps[dim] != 1 || walked >= 0 || llvm::is_contained(turn, dim))
          at.reset();
        else
          walked = dim;
      }
    if (!at)
      return elsewhere("what is written must be a box of neighbouring cells whose place is known");
    box[i] = walked < 0 ? 1 : shapeOf(coordinate)[walked];
    offsets[i] = at->offset;
    if (offsets[i] < 0 || offsets[i] + box[i] > shapeOf(x)[i])
      return error("what is written must lie within the " + Twine(shapeOf(x)[i]) + " cells of dimension " + Twine(i) +
                   ", got: " + Twine(offsets[i]) + " to " + Twine(offsets[i] + box[i]));
    if (walked >= 0)
      turn.push_back(walked);
  }
  for (int64_t dim = 0; dim < points; ++dim)
    if (!llvm::is_contained(turn, dim)) {
      if (shapeOf(coordinates[0])[dim] > 1)
        return elsewhere("no cell may be written twice");
      turn.push_back(dim);
    }
  for (int64_t dim = points; dim < rankOf(updates); ++dim)
    turn.push_back(dim);
  if (rankOf(updates) != points + rankOf(x) - count || cellsOf(shapeOf(updates)) != cellsOf(box))
    return error("what is written must have a cell for each that the indices name");
  Tensor patch = reshape(transpose(updates, turn), box);
  if (combine)
    patch = combine(slice(x, offsets, box, SmallVector<int64_t>(rankOf(x), 1)), patch);
  return overwrite(*this, x, patch, offsets);
}

Tensor Emitter::oneHot(const Tensor &indices, int64_t size, int64_t dim) {
  if (!indices)
    return nullptr;
  SmallVector<int64_t> shape(shapeOf(indices));
  shape.insert(shape.begin() + dim, size);
  Affine cells{0, SmallVector<int64_t>(shape.size(), 0)};
  cells.steps[dim] = 1;
  return compare(graph::Predicate::eq, broadcastTo(unsqueeze(indices, dim), shape),
                 affine(RankedTensorType::get(shape, elementOf(indices)), cells));
}

Tensor Emitter::pick(const Tensor &x, const Tensor &indices, int64_t axis) {
  if (!x || !indices)
    return nullptr;
  Tensor cells = select(oneHot(indices, shapeOf(x)[axis], axis + 1), unsqueeze(x, axis), scalar(0, elementOf(x)));
  return reduce(graph::ReduceKind::sum, cells, {axis + 1}, /*keep=*/false);
}

Tensor Emitter::place(const Tensor &x, const Tensor &indices, const Tensor &updates, int64_t axis, bool adds) {
  if (!x || !indices || !updates)
    return nullptr;
  Tensor flags = oneHot(indices, shapeOf(x)[axis], axis + 1);
  auto sum = [&](const Tensor &cells) { return reduce(graph::ReduceKind::sum, cells, {axis}, /*keep=*/false); };
  auto placed = [&] { return sum(select(flags, unsqueeze(updates, axis + 1), scalar(0, elementOf(updates)))); };
  if (adds)
    return add(x, placed());
  Type f32 = builder.getF32Type();
  Tensor written = compare(graph::Predicate::gt, sum(cast(flags, f32)), scalar(0, f32));
  std::optional<double> one = knownSplat(updates);
  return select(written, one ? scalar(*one, elementOf(x)) : placed(), x);
}

Tensor Emitter::cumsum(const Tensor &x, int64_t dim, bool exclusive, bool reverse) {
  if (!x)
    return nullptr;
  int64_t rank = rankOf(x), size = shapeOf(x)[dim];
  if (!isFloat(x))
    if (std::optional<double> cell = knownSplat(x)) {
      auto each = int64_t(*cell);
      Affine result{(reverse ? size : 1) * each - (exclusive ? each : 0), SmallVector<int64_t>(rank, 0)};
      result.steps[dim] = reverse ? -each : each;
      return affine(x->type, result);
    }
  // What counts cells is exact in f32, of which kernels make sums; other integers have none yet.
  if (isFlag(x) && size <= kMostExactCount)
    return cast(cumsum(cast(x, builder.getF32Type()), dim, exclusive, reverse), elementOf(x));
  if (!isFloat(x)) {
    if (exclusive || reverse)
      return error("exclusive and reverse sums of integers are not supported");
    return finish(graph::CumsumOp::create(builder, loc, x->type, value(x), dim), {x});
  }
  // y[.., i, ..] is the sum of x[.., k, ..] over the k up to i: cells and a sum, which fuse, are split and have
  // gradients.
  SmallVector<int64_t> shape(shapeOf(x)), turn = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(turn[dim], turn[rank - 1]);
  Tensor turned = transpose(x, turn);
  shape.assign(shapeOf(turned).begin(), shapeOf(turned).end());
  shape.insert(shape.end() - 1, size);
  auto places = RankedTensorType::get({size, size}, builder.getI64Type());
  graph::Predicate predicate = reverse ? (exclusive ? graph::Predicate::gt : graph::Predicate::ge)
                                       : (exclusive ? graph::Predicate::lt : graph::Predicate::le);
  Tensor counted = compare(predicate, affine(places, {0, {0, 1}}), affine(places, {0, {1, 0}}));
  Tensor terms = select(counted, broadcastTo(unsqueeze(turned, rank - 1), shape), scalar(0, elementOf(x)));
  return transpose(reduce(graph::ReduceKind::sum, terms, {rank}, /*keep=*/false), turn);
}
