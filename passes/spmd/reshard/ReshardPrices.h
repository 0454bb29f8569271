//===- ReshardPrices.h - What reshards cost, without their moves
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search asks for the price of the same reshard for many shapes. The layouts on the way
// and the moves between them do not depend on the shape: here they are found once, and a
// price is a shortest path over numbers (LayoutGraph). The way is that of ReshardPlanner's plan, which
// programs take: the one of the least bytes, to the last bit. Its seconds are added up on it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_RESHARD_RESHARDPRICES_H
#define DTCC_PASSES_SPMD_RESHARD_RESHARDPRICES_H

#include "passes/spmd/reshard/LayoutGraph.h"
#include <span>

namespace dtcc::spmd {

class ReshardPrices {
public:
  /// `seconds`: of a move.
  ReshardPrices(Mesh mesh, MoveSeconds seconds) : mesh(std::move(mesh)), seconds(std::move(seconds)) {}

  /// Changes the sizes of the axes, keeping their names and order.
  void resize(Mesh mesh, MoveSeconds seconds);

  /// The layouts between two, for `price`, neither of them padded. It stays where it is.
  class Ways;
  Ways &between(const Layout &from, const Layout &to);
  struct Price {
    /// The cost of ReshardPlanner::plan(from, to, shape, elementBytes), by which the moves are chosen (bytesMoved).
    double bytes = 0;
    MoveTime time = {};
  };
  /// Nothing if there is no way.
  std::optional<Price> price(Ways &ways, std::span<const int64_t> shape, int64_t elementBytes);
  std::optional<Price> price(const Layout &from, const Layout &to, std::span<const int64_t> shape,
                             int64_t elementBytes) {
    return price(between(from, to), shape, elementBytes);
  }
  struct Step {
    Move move;
    MoveSizes sizes;
  };
  /// The way that has this price, not fused. There must be one.
  std::vector<Step> wayOf(Ways &ways, std::span<const int64_t> shape, int64_t elementBytes);

  class Ways {
    friend class ReshardPrices;
    /// State of a node in a path search.
    struct Reached {
      double cost = 0, bytes = 0;
      bool known = false, done = false;
      /// From which node, by which of its edges.
      uint32_t before = 0, edge = 0;
    };
    /// Values of one step often have the same shape.
    struct Priced {
      std::vector<int64_t> shape;
      int64_t elementBytes;
      std::optional<Price> price;
    };
    LayoutGraph layouts;
    /// The sizes of the mesh for which the rest holds.
    uint64_t size = 0;
    std::vector<Priced> priced;
    std::vector<Reached> reached;
    std::vector<std::pair<double, uint32_t>> open;

  public:
    Ways(LayoutGraph layouts, uint64_t size) : layouts(std::move(layouts)), size(size) {}
  };

private:
  /// A shortest path; what it reached stays in `ways`.
  std::optional<Price> search(Ways &ways, std::span<const int64_t> shape, int64_t elementBytes);
  static Step stepTo(const Ways &ways, uint32_t number, std::span<const int64_t> shape);

  Mesh mesh;
  /// Number of the present sizes of the mesh: ways take them when they are next asked about.
  uint64_t size = 0;
  MoveSeconds seconds;
  std::unordered_map<std::pair<Layout, Layout>, Ways, LayoutHash, SameEnds> known;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_RESHARD_RESHARDPRICES_H
