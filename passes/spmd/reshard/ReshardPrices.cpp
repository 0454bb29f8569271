//===- ReshardPrices.cpp - What reshards cost, without their moves
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/reshard/ReshardPrices.h"
#include <algorithm>
#include <cassert>

namespace dtcc::spmd {

void ReshardPrices::resize(Mesh other, MoveSeconds otherSeconds) {
  assert(std::equal(mesh.axes.begin(), mesh.axes.end(), other.axes.begin(), other.axes.end(),
                    [](const MeshAxis &a, const MeshAxis &b) { return a.name == b.name; }));
  mesh = std::move(other);
  seconds = std::move(otherSeconds);
  ++size;
}

ReshardPrices::Ways &ReshardPrices::between(const Layout &from, const Layout &to) {
  auto at = known.find(LayoutEnds(from, to));
  if (at == known.end())
    at = known.try_emplace({from, to}, LayoutGraph(from, to, mesh), size).first;
  Ways &ways = at->second;
  if (ways.size != size) {
    ways.layouts.resize(mesh);
    ways.priced.clear();
    ways.size = size;
  }
  return ways;
}

/// Whether dimensions outside of `dim` have more than one cell in a rank's part; -1: no dimension.
static bool isInner(const LayoutGraph::Node &node, std::span<const int64_t> shape, int64_t dim) {
  for (int64_t outer = 0; outer < dim; ++outer)
    if (shape[size_t(outer)] > (size_t(outer) < node.parts.size() ? node.parts[size_t(outer)] : 1))
      return true;
  return false;
}

/// The step by which a search reached the node `number`.
ReshardPrices::Step ReshardPrices::stepTo(const Ways &ways, uint32_t number, std::span<const int64_t> shape) {
  const Ways::Reached &reached = ways.reached[number];
  const LayoutGraph::Node &before = ways.layouts.node(reached.before), &after = ways.layouts.node(number);
  const LayoutGraph::Edge &edge = (*before.edges)[reached.edge];
  return {edge.move,
          {ways.reached[reached.before].bytes, reached.bytes, edge.group, isInner(before, shape, edge.move.splits()),
           isInner(after, shape, edge.move.joins())}};
}

std::vector<ReshardPrices::Step> ReshardPrices::wayOf(Ways &ways, std::span<const int64_t> shape,
                                                      int64_t elementBytes) {
  search(ways, shape, elementBytes);
  std::vector<Step> steps;
  for (uint32_t number = ways.layouts.lastNode(); number != LayoutGraph::kFirst; number = ways.reached[number].before)
    steps.push_back(stepTo(ways, number, shape));
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::optional<ReshardPrices::Price> ReshardPrices::price(Ways &ways, std::span<const int64_t> shape,
                                                         int64_t elementBytes) {
  for (const Ways::Priced &each : ways.priced)
    if (each.elementBytes == elementBytes && std::ranges::equal(each.shape, shape))
      return each.price;
  std::optional<Price> price = search(ways, shape, elementBytes);
  ways.priced.push_back({{shape.begin(), shape.end()}, elementBytes, price});
  return price;
}

std::optional<ReshardPrices::Price> ReshardPrices::search(Ways &ways, std::span<const int64_t> shape,
                                                          int64_t elementBytes) {
  /// Bytes of a rank's shard; negative if the shape does not divide.
  auto bytesIn = [&](const LayoutGraph::Node &node) {
    double bytes = double(elementBytes);
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t parts = dim < node.parts.size() ? node.parts[dim] : 1;
      if (shape[dim] % parts)
        return -1.0;
      bytes *= double(shape[dim] / parts);
    }
    return bytes;
  };
  uint32_t last = ways.layouts.lastNode();
  ways.reached.assign(ways.layouts.size(), {});
  ways.open.clear();
  double first = bytesIn(ways.layouts.node(LayoutGraph::kFirst));
  if (first < 0 || bytesIn(ways.layouts.node(last)) < 0)
    return std::nullopt;
  ways.reached[0] = {0, first, true, false, 0, 0};
  ways.open.push_back({0, 0});
  while (!ways.open.empty()) {
    std::pop_heap(ways.open.begin(), ways.open.end(), std::greater<>());
    auto [here, number] = ways.open.back();
    ways.open.pop_back();
    if (number == last) {
      Price price{here};
      for (; number != LayoutGraph::kFirst; number = ways.reached[number].before) {
        const Step step = stepTo(ways, number, shape);
        price.time += seconds(step.move, step.sizes);
      }
      return price;
    }
    if (ways.reached[number].done)
      continue;
    ways.reached[number].done = true;
    const std::vector<LayoutGraph::Edge> &edges = ways.layouts.edgesOf(number, mesh);
    ways.reached.resize(ways.layouts.size());
    double before = ways.reached[number].bytes;
    for (uint32_t way = 0; way < edges.size(); ++way) {
      const LayoutGraph::Edge &edge = edges[way];
      Ways::Reached &next = ways.reached[edge.to];
      if (next.done)
        continue;
      double bytes = next.known ? next.bytes : bytesIn(ways.layouts.node(edge.to));
      if (bytes < 0)
        continue;
      double total = here + bytesMoved(edge.move, before, bytes, edge.group);
      if (next.known && next.cost <= total)
        continue;
      next = {total, bytes, true, false, number, way};
      ways.open.push_back({total, edge.to});
      std::push_heap(ways.open.begin(), ways.open.end(), std::greater<>());
    }
  }
  return std::nullopt;
}

} // namespace dtcc::spmd
