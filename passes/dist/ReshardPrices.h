//===- ReshardPrices.h - What reshards cost, without their moves
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search asks for the price of the same reshard for many shapes. The layouts on the way
// and the moves between them do not depend on the shape: here they are found once, and a
// price is a shortest path over numbers. It is the cost of ReshardPlanner's plan, to the
// last bit.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_DIST_RESHARDPRICES_H
#define DTCC_PASSES_DIST_RESHARDPRICES_H

#include "passes/dist/ReshardPlanner.h"
#include <deque>
#include <span>

namespace dtcc::dist {

class ReshardPrices {
public:
  ReshardPrices(Mesh mesh, MoveCost cost) : mesh(std::move(mesh)), cost(std::move(cost)) {}

  /// The same axes in other sizes.
  void resize(Mesh mesh, MoveCost cost);

  /// The layouts between two, for `price`, neither of them padded. It stays where it is.
  class Ways;
  Ways &between(const Layout &from, const Layout &to);
  /// As ReshardPlanner::plan(from, to, shape, elementBytes)->cost; nothing if there is no way.
  std::optional<double> price(Ways &ways, std::span<const int64_t> shape, int64_t elementBytes);
  std::optional<double> price(const Layout &from, const Layout &to, std::span<const int64_t> shape,
                              int64_t elementBytes) {
    return price(between(from, to), shape, elementBytes);
  }

  class Ways {
    friend class ReshardPrices;
    struct Edge {
      Move move;
      int64_t group = 1;
      uint32_t to = 0;
    };
    struct Node {
      Layout layout;
      /// By dimension: among how many ranks it is shared out.
      std::vector<int64_t> parts;
      /// Found when a path first comes here.
      std::optional<std::vector<Edge>> edges;
    };
    uint32_t numberOf(const Layout &layout, const Mesh &mesh);
    Layout to;
    std::deque<Node> nodes;
    std::map<Layout, uint32_t> numbers;
    /// Of a path search, by node.
    struct Reached {
      double cost = 0, bytes = 0;
      bool known = false, done = false;
    };
    std::vector<Reached> reached;
    std::vector<std::pair<double, uint32_t>> open;
  };

private:
  Mesh mesh;
  MoveCost cost;
  std::map<std::pair<Layout, Layout>, Ways> known;
};

} // namespace dtcc::dist

#endif // DTCC_PASSES_DIST_RESHARDPRICES_H
