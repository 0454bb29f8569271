//===- LayoutGraph.cpp - The layouts between two, and the moves between them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/reshard/LayoutGraph.h"
#include <bit>
#include <cassert>

namespace dtcc::spmd {

size_t LayoutHash::operator()(const Layout &layout) const {
  size_t hash = size_t(layout.reduction);
  auto add = [&](const Axes &axes) {
    hash = hash * 0x100000001b3 + axes.size() + 1;
    for (const std::string &axis : axes)
      hash = (hash ^ std::hash<std::string>()(axis)) * 0x100000001b3;
  };
  for (const Axes &axes : layout.dims)
    add(axes);
  add(layout.partial);
  for (int64_t size : layout.padded)
    hash = (hash ^ size_t(size)) * 0x100000001b3;
  return hash;
}

static LayoutGraph::AxisSet setOf(const Axes &axes, const Mesh &mesh) {
  assert(mesh.axes.size() <= 64 && "a bit for each axis");
  LayoutGraph::AxisSet set = 0;
  for (const std::string &name : axes)
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
      if (mesh.axes[axis].name == name)
        set |= LayoutGraph::AxisSet(1) << axis;
  return set;
}

static int64_t productOf(LayoutGraph::AxisSet set, const Mesh &mesh) {
  int64_t product = 1;
  for (; set; set &= set - 1)
    product *= mesh.axes[size_t(std::countr_zero(set))].size;
  return product;
}

uint32_t LayoutGraph::numberOf(Layout layout, const Mesh &mesh) {
  auto [at, isNew] = numbers.try_emplace(std::move(layout), uint32_t(nodes.size()));
  if (isNew) {
    Node node{at->first, {}, {}, std::nullopt};
    for (const Axes &axes : node.layout.dims) {
      node.axes.push_back(setOf(axes, mesh));
      node.parts.push_back(productOf(node.axes.back(), mesh));
    }
    nodes.push_back(std::move(node));
  }
  return at->second;
}

const std::vector<LayoutGraph::Edge> &LayoutGraph::edgesOf(uint32_t number, const Mesh &mesh) {
  Node &node = nodes[number];
  if (node.edges)
    return *node.edges;
  std::vector<Move> moves = movesFrom(node.layout, to, mesh);
  std::vector<Edge> edges;
  edges.reserve(moves.size());
  for (Move &move : moves) {
    uint32_t next = numberOf(applyMove(move, node.layout), mesh);
    AxisSet axes = setOf(move.axes, mesh);
    edges.push_back({std::move(move), axes, productOf(axes, mesh), next});
  }
  return node.edges.emplace(std::move(edges));
}

void LayoutGraph::resize(const Mesh &mesh) {
  for (Node &node : nodes) {
    for (size_t dim = 0; dim < node.parts.size(); ++dim)
      node.parts[dim] = productOf(node.axes[dim], mesh);
    if (node.edges)
      for (Edge &edge : *node.edges)
        edge.group = productOf(edge.axes, mesh);
  }
}

} // namespace dtcc::spmd
