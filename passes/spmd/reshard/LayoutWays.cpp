//===- LayoutWays.cpp - The layouts between two, and the moves between them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/reshard/LayoutWays.h"

namespace dtcc::spmd {

uint32_t LayoutWays::numberOf(const Layout &layout, const Mesh &mesh) {
  auto [at, isNew] = numbers.try_emplace(layout, uint32_t(nodes.size()));
  if (isNew) {
    Node node{layout, {}, std::nullopt};
    for (const Axes &axes : layout.dims)
      node.parts.push_back(mesh.product(axes));
    nodes.push_back(std::move(node));
  }
  return at->second;
}

const std::vector<LayoutWays::Edge> &LayoutWays::edgesOf(uint32_t number, const Mesh &mesh) {
  Node &node = nodes[number];
  if (node.edges)
    return *node.edges;
  std::vector<Edge> edges;
  for (Move &move : movesFrom(node.layout, to, mesh)) {
    uint32_t next = numberOf(applyMove(move, node.layout), mesh);
    int64_t group = mesh.product(move.axes);
    edges.push_back({std::move(move), group, next});
  }
  return node.edges.emplace(std::move(edges));
}

void LayoutWays::resize(const Mesh &mesh) {
  for (Node &node : nodes) {
    for (size_t dim = 0; dim < node.parts.size(); ++dim)
      node.parts[dim] = mesh.product(node.layout.dims[dim]);
    if (node.edges)
      for (Edge &edge : *node.edges)
        edge.group = mesh.product(edge.move.axes);
  }
}

} // namespace dtcc::spmd
