//===- PriceMoves.cpp - Seconds of the moves of a reshard
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/reshard/PriceMoves.h"

namespace dtcc::spmd {

cost::Group groupOf(const Axes &axes, const Mesh &mesh) {
  cost::Group group;
  int64_t stride = 1;
  bool first = true;
  for (auto axis = mesh.axes.rbegin(); axis != mesh.axes.rend(); ++axis) {
    if (axis->time)
      continue;
    if (axis->size > 1 && contains(axes, axis->name)) {
      group.ranks *= axis->size;
      if (first)
        group.stride = stride;
      first = false;
    }
    stride *= axis->size;
  }
  return group;
}

MoveCost secondsOfMoves(const Mesh &mesh, const cost::Machine &machine) {
  return [mesh, machine](const Move &move, double before, double after, int64_t) {
    double packed = move.dim > 0 ? before + after : 0;
    double seconds = packed > 0 ? machine.secondsForWork(0, packed) : 0;
    cost::Group group = groupOf(move.axes, mesh);
    if (std::optional<CollectiveKind> kind = move.collective())
      return seconds + machine.secondsForTransfer({*kind, infoOf(*kind).larger(before, after), group});
    // A little, so that of equal ways the shorter is taken.
    return seconds + machine.secondsForWork(0, bytesMoved(move, before, after, group.ranks));
  };
}

bool isLeftToUpdate(const Layout &from, const Layout &to) {
  return from.dims == to.dims &&
         std::none_of(from.partial.begin(), from.partial.end(), [&](const std::string &axis) { return to.uses(axis); });
}

/// A shape that all layouts can split.
static std::vector<int64_t> paddedFor(const Layout &from, const Layout &to, llvm::ArrayRef<int64_t> shape,
                                      const Mesh &mesh) {
  std::vector<int64_t> padded(shape.begin(), shape.end());
  for (size_t dim = 0; dim < padded.size(); ++dim) {
    int64_t parts = std::max(mesh.product(from.dims[dim]), mesh.product(to.dims[dim]));
    padded[dim] = (padded[dim] + parts - 1) / parts * parts;
  }
  return padded;
}

std::optional<MovePricer::Price> MovePricer::priceOf(const Layout &from, const Layout &to,
                                                     llvm::ArrayRef<int64_t> shape, int64_t elementBytes) {
  if (from == to)
    return Price{};
  const Mesh &mesh = planner.getMesh();
  const std::optional<ReshardPlan> &found = planner.plan(from, to, paddedFor(from, to, shape, mesh), elementBytes);
  if (!found)
    return std::nullopt;
  auto bytesOf = [&](const Layout &layout) {
    double bytes = double(elementBytes);
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t parts = mesh.product(layout.dims[dim]);
      bytes *= double((shape[dim] + parts - 1) / parts);
    }
    return bytes;
  };
  Price price{found->cost, 0, &*found};
  Layout layout = from;
  for (const Move &move : found->moves) {
    Layout after = applyMove(move, layout);
    price.seconds += seconds(move, bytesOf(layout), bytesOf(after), mesh.product(move.axes));
    layout = std::move(after);
  }
  return price;
}

} // namespace dtcc::spmd
