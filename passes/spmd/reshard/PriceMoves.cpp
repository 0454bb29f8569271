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

MoveSeconds secondsOfMoves(const Mesh &mesh, const cost::Machine &machine) {
  return [mesh, machine](const Move &move, const MoveSizes &sizes) {
    const double before = sizes.before, after = sizes.after;
    std::optional<CollectiveKind> kind = move.collective();
    // A little, so that of equal ways the shorter is taken.
    if (!kind)
      return MoveTime{machine.secondsForWork(0, bytesMoved(move, before, after, sizes.group) +
                                                    (move.dim > 0 ? before + after : 0))};
    auto transfer = [&, group = groupOf(move.axes, mesh)](double bytes) {
      return machine.secondsForTransfer({*kind, bytes, group});
    };
    const double bytes = infoOf(*kind).larger(before, after), all = transfer(bytes);
    const double copied = 2 * ((sizes.splitsInner ? before : 0) + (sizes.joinsInner ? after : 0));
    const double copies = copied > 0 ? machine.secondsForWork(0, copied) : 0;
    // As transfers of about these bytes start: small ones go other ways.
    return MoveTime{all + copies, std::max(0.0, 2 * transfer(bytes / 2) - all), copies};
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
  auto at = known.find(ReshardKeyReference{from, to, {shape.data(), shape.size()}, elementBytes});
  if (at == known.end()) {
    at = known.try_emplace(ReshardKey{from, to, shape.vec(), elementBytes}).first;
    at->second = find(at->first);
  }
  return at->second;
}

std::optional<MovePricer::Price> MovePricer::find(const ReshardKey &key) {
  const auto &[from, to, shape, elementBytes] = key;
  const Mesh &mesh = planner.getMesh();
  const std::optional<ReshardPlan> &found = planner.plan(from, to, paddedFor(from, to, shape, mesh), elementBytes);
  if (!found)
    return std::nullopt;
  auto cellsOf = [&](const Layout &layout, size_t dims) {
    double cells = 1;
    for (size_t dim = 0; dim < dims; ++dim) {
      int64_t parts = mesh.product(layout.dims[dim]);
      cells *= double((shape[dim] + parts - 1) / parts);
    }
    return cells;
  };
  Price price{found->cost, 0, &*found};
  Layout layout = from;
  for (const Move &move : found->moves) {
    Layout after = applyMove(move, layout);
    auto isInner = [&](const Layout &each, int64_t dim) { return dim > 0 && cellsOf(each, size_t(dim)) > 1; };
    const double each = double(elementBytes);
    price.seconds +=
        seconds(move, {each * cellsOf(layout, shape.size()), each * cellsOf(after, shape.size()),
                       mesh.product(move.axes), isInner(layout, move.splits()), isInner(after, move.joins())})
            .seconds;
    layout = std::move(after);
  }
  return price;
}

} // namespace dtcc::spmd
