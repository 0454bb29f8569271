//===- ReshardPrices.cpp - What reshards cost, without their moves
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/dist/ReshardPrices.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace dtcc::dist {

uint32_t ReshardPrices::Ways::numberOf(const Layout &layout, const Mesh &mesh) {
  auto [at, isNew] = numbers.try_emplace(layout, uint32_t(nodes.size()));
  if (isNew) {
    Node node{layout, {}, std::nullopt};
    for (const Axes &axes : layout.dims)
      node.parts.push_back(mesh.product(axes));
    nodes.push_back(std::move(node));
  }
  return at->second;
}

void ReshardPrices::resize(Mesh other, MoveCost otherSeconds) {
  mesh = std::move(other);
  seconds = std::move(otherSeconds);
  for (auto &[ends, ways] : known)
    for (Ways::Node &node : ways.nodes) {
      for (auto [dim, axes] : llvm::enumerate(node.layout.dims))
        node.parts[dim] = mesh.product(axes);
      if (node.edges)
        for (Ways::Edge &edge : *node.edges)
          edge.group = mesh.product(edge.move.axes);
    }
}

ReshardPrices::Ways &ReshardPrices::between(const Layout &from, const Layout &to) {
  auto [at, isNew] = known.try_emplace({from, to});
  if (isNew) {
    at->second.to = to;
    at->second.numberOf(from, mesh); // number 0
    at->second.numberOf(to, mesh);   // number 1, or 0
  }
  return at->second;
}

std::vector<ReshardPrices::Step> ReshardPrices::lastWay(const Ways &ways) const {
  std::vector<Step> steps;
  for (uint32_t number = ways.numbers.at(ways.to); number != 0; number = ways.reached[number].before) {
    const Ways::Reached &reached = ways.reached[number];
    const Ways::Edge &edge = (*ways.nodes[reached.before].edges)[reached.edge];
    steps.push_back({edge.move, ways.reached[reached.before].bytes, reached.bytes});
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::optional<ReshardPrices::Price> ReshardPrices::price(Ways &ways, std::span<const int64_t> shape,
                                                         int64_t elementBytes) {
  /// Of a rank's part; negative where it does not divide.
  auto bytesIn = [&](const Ways::Node &node) {
    double bytes = double(elementBytes);
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t parts = dim < node.parts.size() ? node.parts[dim] : 1;
      if (shape[dim] % parts)
        return -1.0;
      bytes *= double(shape[dim] / parts);
    }
    return bytes;
  };
  uint32_t last = ways.numbers.at(ways.to);
  ways.reached.assign(ways.nodes.size(), {});
  ways.open.clear();
  double first = bytesIn(ways.nodes[0]);
  if (first < 0 || bytesIn(ways.nodes[last]) < 0)
    return std::nullopt;
  ways.reached[0] = {0, first, true, false, 0, 0};
  ways.open.push_back({0, 0});
  while (!ways.open.empty()) {
    std::pop_heap(ways.open.begin(), ways.open.end(), std::greater<>());
    auto [here, number] = ways.open.back();
    ways.open.pop_back();
    if (number == last) {
      Price price{here, 0};
      while (number != 0) {
        const Ways::Reached &reached = ways.reached[number];
        const Ways::Edge &edge = (*ways.nodes[reached.before].edges)[reached.edge];
        price.seconds += seconds(edge.move, ways.reached[reached.before].bytes, reached.bytes, edge.group);
        number = reached.before;
      }
      return price;
    }
    if (ways.reached[number].done)
      continue;
    ways.reached[number].done = true;
    Ways::Node &node = ways.nodes[number];
    if (!node.edges) {
      std::vector<Ways::Edge> edges;
      for (Move &move : movesFrom(node.layout, ways.to, mesh)) {
        uint32_t to = ways.numberOf(applyMove(move, node.layout), mesh);
        int64_t group = mesh.product(move.axes);
        edges.push_back({std::move(move), group, to});
      }
      node.edges = std::move(edges);
      ways.reached.resize(ways.nodes.size());
    }
    double before = ways.reached[number].bytes;
    for (uint32_t way = 0; way < node.edges->size(); ++way) {
      const Ways::Edge &edge = (*node.edges)[way];
      Ways::Reached &next = ways.reached[edge.to];
      if (next.done)
        continue;
      double bytes = next.known ? next.bytes : bytesIn(ways.nodes[edge.to]);
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

} // namespace dtcc::dist
