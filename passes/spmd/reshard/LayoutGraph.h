//===- LayoutGraph.h - The layouts between two, and the moves between them
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which moves lead from one layout to another does not depend on a tensor's shape. Here they
// are found once, when a path first asks; shortest paths for many shapes then are arithmetic
// over numbers.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_RESHARD_LAYOUTGRAPH_H
#define DTCC_PASSES_SPMD_RESHARD_LAYOUTGRAPH_H

#include "passes/spmd/reshard/Moves.h"
#include <deque>
#include <optional>
#include <unordered_map>

namespace dtcc::spmd {

struct LayoutHash {
  using is_transparent = void;
  size_t operator()(const Layout &layout) const;
  template <typename Each> size_t operator()(const std::pair<Each, Each> &ends) const {
    return 31 * (*this)(ends.first) + (*this)(ends.second);
  }
};

/// Two layouts that are looked up without a copy of them.
using LayoutEnds = std::pair<const Layout &, const Layout &>;
struct SameEnds {
  using is_transparent = void;
  template <typename A, typename B> bool operator()(const A &a, const B &b) const {
    return a.first == b.first && a.second == b.second;
  }
};

class LayoutGraph {
public:
  /// Axes by their numbers in the mesh, as bits.
  using AxisSet = uint64_t;
  struct Edge {
    Move move;
    AxisSet axes = 0;
    /// Members of a group of the move.
    int64_t group = 1;
    uint32_t to = 0;
  };
  struct Node {
    /// A key of `numbers`.
    const Layout &layout;
    std::vector<AxisSet> axes;
    /// Number of shards of each dimension.
    std::vector<int64_t> parts;
    /// Found when a path first comes here.
    std::optional<std::vector<Edge>> edges;
  };

  LayoutGraph(const Layout &from, const Layout &to, const Mesh &mesh) : to(to) {
    numberOf(from, mesh);
    last = numberOf(to, mesh);
  }
  LayoutGraph(LayoutGraph &&) = default;

  /// First and last node of the paths; nodes are numbered from 0.
  static constexpr uint32_t kFirst = 0;
  uint32_t lastNode() const { return last; }
  size_t size() const { return nodes.size(); }
  const Node &node(uint32_t number) const { return nodes[number]; }
  /// All moves from there; what they lead to may be new nodes.
  const std::vector<Edge> &edgesOf(uint32_t number, const Mesh &mesh);
  /// Changes the sizes of the axes, keeping their names and order.
  void resize(const Mesh &mesh);

private:
  uint32_t numberOf(Layout layout, const Mesh &mesh);

  Layout to;
  uint32_t last = 0;
  std::deque<Node> nodes;
  std::unordered_map<Layout, uint32_t, LayoutHash> numbers;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_RESHARD_LAYOUTGRAPH_H
