//===- Shards.cpp - The parts of a tensor that all ranks hold, in one process
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/evaluate/Shards.h"
#include <array>
#include <cmath>

using namespace mlir;

namespace dtcc::spmd {

namespace {
/// The coordinates of a position.
struct Position {
  const Mesh &mesh;
  int64_t number;
  int64_t rank() const { return number % mesh.ranks(); }
  int64_t slot() const { return number / mesh.ranks(); }
  int64_t index(const Axes &axes) const { return mesh.index(rank(), slot(), axes); }
};
} // namespace

static double get(const HostTensor &tensor, int64_t at) {
  return tensor.isFloat() ? tensor.floats[at] : static_cast<double>(tensor.ints[at]);
}
static void set(HostTensor &tensor, int64_t at, double value) {
  if (tensor.isFloat())
    tensor.floats[at] = value;
  else
    // Integers have no poison: another number would be out of the range of what they index.
    tensor.ints[at] = std::isnan(value) ? 0 : static_cast<int64_t>(value);
}

/// Term `index` of `count` of a partial value: small integers, and what is left of `value`.
static double term(double value, Reduction kind, int64_t index, int64_t count, uint64_t seed) {
  auto random = [&](int64_t i) {
    uint64_t x = seed * 0x9e3779b97f4a7c15u + (i + 1) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return static_cast<double>((x >> 40) % 17);
  };
  if (kind != Reduction::Sum) {
    // One term is the value, the others lie beyond it.
    double distance = index == static_cast<int64_t>(random(-1)) % count ? 0 : random(index);
    return kind == Reduction::Max ? value - distance : value + distance;
  }
  if (index + 1 < count)
    return random(index) - 8;
  for (int64_t i = 0; i + 1 < count; ++i)
    value -= random(i) - 8;
  return value;
}

/// Calls `body(local position, whole index)` for every cell of the part of a position.
static void forEachCell(const Position &position, const Layout &layout, ArrayRef<int64_t> local,
                        llvm::function_ref<void(int64_t, ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> first;
  for (size_t d = 0; d < local.size(); ++d)
    first.push_back(position.index(layout.dims[d]) * local[d]);
  SmallVector<int64_t> whole(local.size());
  forEachIndex(local, [&](ArrayRef<int64_t> index, int64_t at) {
    for (size_t d = 0; d < local.size(); ++d)
      whole[d] = first[d] + index[d];
    body(at, whole);
  });
}

static bool isPadding(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (index[d] >= shape[d])
      return true;
  return false;
}

Shards scatter(const HostTensor &whole, const Layout &layout, const Mesh &mesh, double padding, uint64_t seed) {
  std::vector<int64_t> local = *layout.localShape({whole.shape.begin(), whole.shape.end()}, mesh);
  SmallVector<int64_t> strides = whole.strides();
  int64_t terms = mesh.product(layout.partial);
  Shards parts;
  for (int64_t number = 0; number < mesh.ranks() * mesh.slots(); ++number) {
    Position position{mesh, number};
    HostTensor part(local, whole.elementType);
    forEachCell(position, layout, local, [&](int64_t at, ArrayRef<int64_t> index) {
      if (isPadding(index, whole.shape))
        return set(part, at, padding);
      int64_t cell = positionOf(index, strides);
      set(part, at,
          term(get(whole, cell), layout.reduction, position.index(layout.partial), terms, seed + cell * 7919));
    });
    parts.push_back(std::move(part));
  }
  return parts;
}

static double combine(Reduction kind, double a, double b) {
  return kind == Reduction::Sum ? a + b : kind == Reduction::Max ? std::max(a, b) : std::min(a, b);
}

llvm::Expected<HostTensor> gather(const Shards &parts, const Layout &layout, const Mesh &mesh, ArrayRef<int64_t> shape,
                                  double tolerance) {
  std::optional<std::vector<int64_t>> local = layout.localShape(shape.vec(), mesh);
  auto fail = [](const Twine &what) {
    return llvm::createStringError(std::errc::invalid_argument, what.str().c_str());
  };
  if (!local)
    return fail("the layout does not divide: " + layout.str());
  // The terms of the sum (maximum, minimum), each whole.
  std::vector<HostTensor> terms(mesh.product(layout.partial), HostTensor(shape, parts.front().elementType));
  SmallVector<int64_t> strides = terms.front().strides();
  std::vector<std::vector<bool>> known(terms.size(), std::vector<bool>(terms.front().size()));
  std::string problem;
  for (size_t number = 0; number < parts.size(); ++number) {
    Position position{mesh, static_cast<int64_t>(number)};
    if (ArrayRef<int64_t>(parts[number].shape) != ArrayRef<int64_t>(*local))
      return fail("part " + Twine(number) + " has the wrong shape");
    int64_t index = position.index(layout.partial);
    forEachCell(position, layout, *local, [&](int64_t at, ArrayRef<int64_t> cellIndex) {
      if (isPadding(cellIndex, shape))
        return;
      int64_t cell = positionOf(cellIndex, strides);
      double value = get(parts[number], at), before = get(terms[index], cell);
      bool same = value == before ||
                  std::abs(value - before) <= tolerance * std::max(std::abs(value), std::abs(before)) ||
                  (std::isnan(value) && std::isnan(before));
      if (known[index][cell] && !same && problem.empty())
        problem = "replicas differ at cell " + std::to_string(cell) + ": " + std::to_string(before) + " and " +
                  std::to_string(value) + " at position " + std::to_string(number);
      known[index][cell] = true;
      set(terms[index], cell, value);
    });
  }
  if (!problem.empty())
    return fail(problem);
  HostTensor whole = terms.front();
  for (size_t i = 1; i < terms.size(); ++i)
    for (int64_t cell = 0; cell < whole.size(); ++cell)
      set(whole, cell, combine(layout.reduction, get(whole, cell), get(terms[i], cell)));
  return whole;
}

/// Sizes before, at and after a dimension: a tensor as a box of three dimensions.
static std::array<int64_t, 3> boxOf(const HostTensor &x, int64_t dim) {
  std::array<int64_t, 3> box = {1, x.shape[dim], 1};
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != dim)
      box[d < dim ? 0 : 2] *= x.shape[d];
  return box;
}

HostTensor sliceDim(const HostTensor &x, int64_t dim, int64_t index, int64_t count) {
  auto [outer, size, inner] = boxOf(x, dim);
  SmallVector<int64_t> shape(x.shape);
  int64_t part = shape[dim] = size / count;
  HostTensor result(shape, x.elementType);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < part * inner; ++k)
      set(result, o * part * inner + k, get(x, (o * size + index * part) * inner + k));
  return result;
}

HostTensor concatDim(ArrayRef<const HostTensor *> parts, int64_t dim) {
  auto [outer, size, inner] = boxOf(*parts.front(), dim);
  SmallVector<int64_t> shape(parts.front()->shape);
  int64_t count = parts.size();
  shape[dim] *= count;
  HostTensor result(shape, parts.front()->elementType);
  for (int64_t p = 0; p < count; ++p)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k = 0; k < size * inner; ++k)
        set(result, (o * count + p) * size * inner + k, get(*parts[p], o * size * inner + k));
  return result;
}

/// Result of a collective on member `index` of a group: the pieces of all members' tensors for it, joined or reduced.
static HostTensor collect(ArrayRef<const HostTensor *> members, int64_t index, const Move &move) {
  const CollectiveInfo &info = infoOf(*move.collective());
  int64_t count = members.size();
  std::vector<HostTensor> pieces;
  for (const HostTensor *member : members)
    pieces.push_back(move.splits() >= 0 ? sliceDim(*member, move.splits(), index, count) : *member);
  if (info.reduces) {
    HostTensor &sum = pieces.front();
    for (const HostTensor &piece : ArrayRef(pieces).drop_front())
      for (int64_t i = 0; i < sum.size(); ++i)
        set(sum, i, combine(move.reduction, get(sum, i), get(piece, i)));
    return sum;
  }
  if (move.joins() >= 0) {
    SmallVector<const HostTensor *> pointers;
    for (const HostTensor &piece : pieces)
      pointers.push_back(&piece);
    return concatDim(pointers, move.joins());
  }
  // To the next member, or from the first to all.
  return pieces[info.traffic == Traffic::ToNext ? (index + count - 1) % count : 0];
}

Shards moveShards(const Shards &parts, const Move &move, const Mesh &mesh, int64_t slot) {
  Shards results;
  int64_t count = mesh.product(move.axes), ranks = mesh.ranks();
  for (size_t number = 0; number < parts.size(); ++number) {
    int64_t rank = number % ranks, at = slot >= 0 ? slot : static_cast<int64_t>(number) / ranks;
    int64_t index = mesh.index(rank, at, move.axes);
    const HostTensor &own = parts[number];
    if (move.collective()) {
      SmallVector<const HostTensor *> members;
      for (int64_t other : mesh.group(rank, move.axes))
        members.push_back(&parts[number - rank + other]);
      results.push_back(collect(members, index, move));
    } else if (move.kind == Move::LocalSlice) {
      results.push_back(sliceDim(own, move.dim, index, count));
    } else {
      results.push_back(index == 0 ? own : HostTensor(own.shape, own.elementType));
    }
  }
  return results;
}

} // namespace dtcc::spmd
