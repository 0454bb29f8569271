//===- ReshardPlanner.cpp - The cheapest way from one layout to another
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/reshard/ReshardPlanner.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <set>

namespace dtcc::spmd {

ReshardPlanner::ReshardPlanner(Mesh mesh, MoveCost cost, double memoryCap)
    : mesh(std::move(mesh)), cost(std::move(cost)), memoryCap(memoryCap) {}

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

std::optional<ReshardPlan> ReshardPlanner::search(const ReshardKey &key) {
  if (!key.from.localShape(key.shape, mesh) || !key.to.localShape(key.shape, mesh))
    return std::nullopt;
  auto at = ways.find(LayoutEnds(key.from, key.to));
  if (at == ways.end())
    at = ways.try_emplace({key.from, key.to}, std::make_unique<LayoutGraph>(key.from, key.to, mesh)).first;
  LayoutGraph *layouts = at->second.get();
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
  std::optional<double> first = bytesAt(LayoutGraph::kFirst), last = bytesAt(layouts->lastNode());
  double cap = memoryCap > 0 ? std::max(*first, *last) + memoryCap : 0;
  struct Reached {
    bool seen = false, done = false;
    std::optional<double> bytes; // of a rank's shard; nothing if the shape does not divide
    double cost = 0;
    /// The node before this one, and the number of its edge that leads here.
    uint32_t before = 0;
    size_t edge = 0;
  };
  // Layouts order nodes of equal cost, so that the plan is the same on every machine.
  auto isBefore = [&](const std::pair<double, uint32_t> &a, const std::pair<double, uint32_t> &b) {
    return a.first != b.first ? a.first < b.first : layouts->node(a.second).layout < layouts->node(b.second).layout;
  };
  std::set<std::pair<double, uint32_t>, decltype(isBefore)> open(isBefore);
  std::vector<Reached> reached(layouts->size());
  reached[LayoutGraph::kFirst].seen = true;
  reached[LayoutGraph::kFirst].bytes = first;
  open.insert({0, LayoutGraph::kFirst});
  while (!open.empty() && open.begin()->second != layouts->lastNode()) {
    auto [costHere, number] = *open.begin();
    open.erase(open.begin());
    reached[number].done = true;
    const std::vector<LayoutGraph::Edge> &edges = layouts->edgesOf(number, mesh);
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
  for (uint32_t at = layouts->lastNode(); at != LayoutGraph::kFirst; at = reached[at].before)
    plan.moves.push_back((*layouts->node(reached[at].before).edges)[reached[at].edge].move);
  std::reverse(plan.moves.begin(), plan.moves.end());
  plan.moves = fuse(plan.moves);
  return plan;
}

const std::optional<ReshardPlan> &ReshardPlanner::plan(const Layout &from, const Layout &to,
                                                       const std::vector<int64_t> &shape, int64_t elementBytes) {
  auto at = known.find(ReshardKeyReference{from, to, shape, elementBytes});
  if (at == known.end()) {
    at = known.try_emplace(ReshardKey{from, to, shape, elementBytes}).first;
    at->second = search(at->first);
  }
  return at->second;
}

} // namespace dtcc::spmd
