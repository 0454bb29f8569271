//===- Indexing.cpp - Gathers and picks
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Indexing.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/PointPlaces.h"
#include "frontends/onnx/emit/Reductions.h"

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

Tensor dtcc::onnx::gather(Emitter &emit, const Tensor &x, const Tensor &indices, int64_t axis) {
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
      return emit.affine(typeLike(x, shape), result);
    }
    // Evenly spaced: a slice, what torch.as_strided reads of a tensor in one piece among them.
    int64_t step = evenSteps(*at, shapeOf(indices)), cells = cellsOf(shapeOf(indices));
    if (!x->constant && step > 0 && (table ? cells == 1 : cells > 0)) {
      SmallVector<int64_t> offsets(rankOf(x), 0), sizes(shapeOf(x)), strides(rankOf(x), 1);
      offsets[axis] = at->offset, sizes[axis] = cells, strides[axis] = step;
      int64_t last = at->offset + (cells - 1) * step;
      if (at->offset < 0 || last >= shapeOf(x)[axis])
        return emit.error("index must be within the " + Twine(shapeOf(x)[axis]) +
                          " cells of the axis, got: " + Twine(at->offset < 0 ? at->offset : last));
      return emit.reshape(emit.slice(x, offsets, sizes, strides), shape);
    }
  }
  Value operand = emit.value(x);
  if (table)
    return emit.fromValue(graph::EmbeddingOp::create(emit.getBuilder(), emit.getLoc(), typeLike(x, shape), operand,
                                                     emit.value(indices), emit.getBuilder().getI64IntegerAttr(-1),
                                                     nullptr));
  return emit.finish(
      graph::GatherOp::create(emit.getBuilder(), emit.getLoc(), typeLike(x, shape), operand, emit.value(indices), axis),
      {x, indices});
}

Tensor dtcc::onnx::gatherPoints(Emitter &emit, const Tensor &x, ArrayRef<Tensor> coordinates) {
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
      return emit.affine(typeLike(x, shape), result);
    }
  }
  // Coordinates that walk whole dimensions: a transpose and a broadcast.
  SmallVector<int64_t> walks;
  for (int64_t i = 0; i < count; ++i)
    walks.push_back(wholeWalk(coordinates[i], shapeOf(x)[i]));
  if (!llvm::is_contained(walks, -1) &&
      llvm::SmallDenseSet<int64_t>(walks.begin(), walks.end()).size() == walks.size()) {
    SmallVector<int64_t> permutation = llvm::to_vector<6>(llvm::seq<int64_t>(0, rankOf(x))), dims;
    llvm::sort(MutableArrayRef(permutation).take_front(count),
               [&](int64_t a, int64_t b) { return walks[a] < walks[b]; });
    for (int64_t i = 0; i < count; ++i)
      dims.push_back(walks[permutation[i]]);
    for (size_t i = 0; i < rest.size(); ++i)
      dims.push_back(points.size() + i);
    Tensor turned = emit.transpose(x, permutation);
    if (turned->type.getRank() == int64_t(shape.size()))
      return turned;
    return emit.finish(
        graph::BroadcastOp::create(emit.getBuilder(), emit.getLoc(), typeLike(x, shape), emit.value(turned), dims),
        {turned});
  }
  // In general: rows of the flattened dimensions.
  SmallVector<int64_t> flat = {cellsOf(shapeOf(x).take_front(count))};
  flat.append(rest.begin(), rest.end());
  return gather(emit, emit.reshape(x, flat), flatPlace(emit, x, coordinates), 0);
}

Tensor dtcc::onnx::oneHot(Emitter &emit, const Tensor &indices, int64_t size, int64_t dim) {
  if (!indices)
    return nullptr;
  SmallVector<int64_t> shape(shapeOf(indices));
  shape.insert(shape.begin() + dim, size);
  Affine cells{0, SmallVector<int64_t>(shape.size(), 0)};
  cells.steps[dim] = 1;
  return emit.compare(graph::Predicate::eq, emit.broadcastTo(unsqueeze(emit, indices, dim), shape),
                      emit.affine(RankedTensorType::get(shape, elementOf(indices)), cells));
}

Tensor dtcc::onnx::pick(Emitter &emit, const Tensor &x, const Tensor &indices, int64_t axis) {
  if (!x || !indices)
    return nullptr;
  Tensor cells = emit.select(oneHot(emit, indices, shapeOf(x)[axis], axis + 1), unsqueeze(emit, x, axis),
                             emit.scalar(0, elementOf(x)));
  return reduce(emit, Reduction::Sum, cells, {axis + 1}, /*keep=*/false);
}
