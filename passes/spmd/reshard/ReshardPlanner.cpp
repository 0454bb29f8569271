//===- ReshardPlanner.cpp - The cheapest way from one layout to another
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/reshard/LayoutWays.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <set>

namespace dtcc::spmd {

std::string_view Move::name(Kind kind) {
  if (kind < kCollectives)
    return mnemonicOf(CollectiveKind(kind));
  return kind == LocalSlice ? "local_slice" : "zero_fill";
}

static void erase(Axes &axes, const Axes &gone) {
  std::erase_if(axes, [&](const std::string &axis) { return contains(gone, axis); });
}

Layout applyMove(const Move &move, Layout layout) {
  if (move.joins() >= 0)
    erase(layout.dims[move.joins()], move.axes);
  if (move.collective() && infoOf(*move.collective()).reduces)
    erase(layout.partial, move.axes);
  if (move.splits() >= 0) {
    Axes &split = layout.dims[move.splits()];
    split.insert(split.end(), move.axes.begin(), move.axes.end());
  }
  if (move.kind == Move::ZeroFill)
    layout.partial.insert(layout.partial.end(), move.axes.begin(), move.axes.end());
  std::sort(layout.partial.begin(), layout.partial.end());
  if (layout.partial.empty())
    layout.reduction = Reduction::Sum;
  return layout;
}

double bytesMoved(const Move &move, double before, double after, int64_t group) {
  // A start costs about as much as 4 KiB; what is only copied locally, a fiftieth of what is sent.
  constexpr double kStart = 4096, kCopy = 0.02;
  std::optional<CollectiveKind> kind = move.collective();
  if (!kind)
    return 1 + kCopy * after;
  double rounds = infoOf(*kind).traffic == Traffic::TwiceAround ? 2 : 1;
  return kStart + rounds * infoOf(*kind).larger(before, after) * (1.0 - 1.0 / group);
}

ReshardPlanner::ReshardPlanner(Mesh mesh, MoveCost cost, double memoryCap)
    : mesh(std::move(mesh)), cost(std::move(cost)), memoryCap(memoryCap) {}
ReshardPlanner::~ReshardPlanner() = default;

/// Is the time axis part of `axes`?
static bool anyTime(const Mesh &mesh, const Axes &axes) {
  return std::any_of(axes.begin(), axes.end(), [&](const std::string &axis) { return mesh.isTime(axis); });
}

std::vector<Move> movesFrom(const Layout &layout, const Layout &to, const Mesh &mesh) {
  std::vector<Move> moves;
  int64_t rank = layout.dims.size();
  for (int64_t dim = 0; dim < rank; ++dim) {
    const Axes &axes = layout.dims[dim];
    for (size_t count = 1; count <= axes.size(); ++count) {
      Axes last(axes.end() - count, axes.end());
      if (anyTime(mesh, last))
        break;
      moves.push_back({Move::AllGather, dim, -1, last, Reduction::Sum});
      for (int64_t other = 0; other < rank; ++other)
        if (other != dim)
          moves.push_back({Move::AllToAll, dim, other, last, Reduction::Sum});
    }
    for (const MeshAxis &axis : mesh.axes) {
      if (!layout.uses(axis.name) && to.uses(axis.name))
        moves.push_back({Move::LocalSlice, dim, -1, {axis.name}, Reduction::Sum});
      if (contains(layout.partial, axis.name) && !axis.time)
        moves.push_back({Move::ReduceScatter, dim, -1, {axis.name}, layout.reduction});
    }
  }
  // Partial axes that may be reduced, in every combination: reducing two at once is cheaper than twice.
  Axes partial;
  for (const std::string &axis : layout.partial)
    if (!mesh.isTime(axis))
      partial.push_back(axis);
  for (unsigned subset = 1; subset < (1u << partial.size()); ++subset) {
    Axes axes;
    for (size_t i = 0; i < partial.size(); ++i)
      if (subset & (1u << i))
        axes.push_back(partial[i]);
    moves.push_back({Move::AllReduce, -1, -1, axes, layout.reduction});
  }
  // A partial maximum cannot be filled with zeros.
  if (layout.partial.empty() || layout.reduction == Reduction::Sum)
    if (to.reduction == Reduction::Sum)
      for (const std::string &axis : to.partial)
        if (!layout.uses(axis))
          moves.push_back({Move::ZeroFill, -1, -1, {axis}, Reduction::Sum});
  return moves;
}

/// Joins neighbouring moves of one kind on one dimension: slice or scatter a then b is slice
/// or scatter [a, b]. Gathers of several axes are moves of their own.
static std::vector<Move> fuse(const std::vector<Move> &moves) {
  std::vector<Move> fused;
  for (const Move &move : moves) {
    Move *last = fused.empty() ? nullptr : &fused.back();
    bool joins = last && last->kind == move.kind && last->dim == move.dim && last->reduction == move.reduction &&
                 move.kind != Move::AllToAll && move.kind != Move::AllGather;
    if (joins)
      last->axes.insert(last->axes.end(), move.axes.begin(), move.axes.end());
    else
      fused.push_back(move);
  }
  return fused;
}

std::optional<ReshardPlan> ReshardPlanner::search(const Key &key) {
  if (!key.from.localShape(key.shape, mesh) || !key.to.localShape(key.shape, mesh))
    return std::nullopt;
  std::unique_ptr<LayoutWays> &layouts = ways[{key.from, key.to}];
  if (!layouts)
    layouts = std::make_unique<LayoutWays>(key.from, key.to, mesh);
  const std::vector<int64_t> &shape = key.from.padded.empty() ? key.shape : key.from.padded;
  /// Bytes of a rank's shard; nothing if the shape does not divide.
  auto bytesAt = [&](uint32_t node) -> std::optional<double> {
    double bytes = double(key.elementBytes);
    for (auto [extent, parts] : llvm::zip(shape, layouts->node(node).parts)) {
      if (extent % parts)
        return std::nullopt;
      bytes *= double(extent / parts);
    }
    return bytes;
  };
  std::optional<double> first = bytesAt(LayoutWays::kFirst), last = bytesAt(layouts->lastNode());
  double cap = memoryCap > 0 ? std::max(*first, *last) + memoryCap : 0;
  struct Reached {
    bool seen = false, done = false;
    std::optional<double> bytes; // of a rank's part; nothing where it cannot lie so
    double cost = 0;
    /// From which node, by which of its edges.
    uint32_t before = 0;
    size_t edge = 0;
  };
  // Equal costs are settled by layouts: the same way on every machine.
  auto isBefore = [&](const std::pair<double, uint32_t> &a, const std::pair<double, uint32_t> &b) {
    return a.first != b.first ? a.first < b.first : layouts->node(a.second).layout < layouts->node(b.second).layout;
  };
  std::set<std::pair<double, uint32_t>, decltype(isBefore)> open(isBefore);
  std::vector<Reached> reached(layouts->size());
  reached[LayoutWays::kFirst].seen = true;
  reached[LayoutWays::kFirst].bytes = first;
  open.insert({0, LayoutWays::kFirst});
  while (!open.empty() && open.begin()->second != layouts->lastNode()) {
    auto [costHere, number] = *open.begin();
    open.erase(open.begin());
    reached[number].done = true;
    const std::vector<LayoutWays::Edge> &edges = layouts->edgesOf(number, mesh);
    reached.resize(layouts->size());
    double before = *reached[number].bytes;
    for (auto [way, edge] : llvm::enumerate(edges)) {
      Reached &next = reached[edge.to];
      bool isNew = !next.seen;
      if (isNew)
        next.bytes = bytesAt(edge.to);
      next.seen = true;
      if (next.done || !next.bytes || (cap > 0 && *next.bytes > cap))
        continue;
      double total = costHere + cost(edge.move, before, *next.bytes, edge.group);
      if (!isNew && next.cost <= total)
        continue;
      if (!isNew)
        open.erase({next.cost, edge.to});
      next.cost = total;
      next.before = number;
      next.edge = way;
      open.insert({total, edge.to});
    }
  }
  if (open.empty())
    return std::nullopt;
  ReshardPlan plan;
  plan.cost = open.begin()->first;
  for (uint32_t at = layouts->lastNode(); at != LayoutWays::kFirst; at = reached[at].before)
    plan.moves.push_back((*layouts->node(reached[at].before).edges)[reached[at].edge].move);
  std::reverse(plan.moves.begin(), plan.moves.end());
  plan.moves = fuse(plan.moves);
  return plan;
}

const std::optional<ReshardPlan> &ReshardPlanner::plan(const Layout &from, const Layout &to,
                                                       const std::vector<int64_t> &shape, int64_t elementBytes) {
  auto [at, isNew] = known.try_emplace(Key{from, to, shape, elementBytes});
  if (isNew)
    at->second = search(at->first);
  return at->second;
}

} // namespace dtcc::spmd
