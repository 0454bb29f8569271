//===- ReshardPlanner.h - The cheapest way from one layout to another
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shortest path over layouts. The same function prices an edge for a search and
// emits its collectives, so that a price is what is paid. Plain C++.
//
// A state of the search is a layout: ordered axes per dimension and a set of partial
// axes. Moves:
//
//   all_gather      drops the last axes of a dimension
//   local_slice     appends an unused axis to a dimension
//   all_to_all      moves the last axes of a dimension to the end of another
//   reduce_scatter  appends a partial axis to a dimension
//   all_reduce      drops partial axes
//   zero_fill       makes an unused axis partial (sums only)
//
// Time axes are not communicated over: they are sliced and zero-filled only.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PASSES_SPMD_RESHARD_RESHARDPLANNER_H
#define DTCC_PASSES_SPMD_RESHARD_RESHARDPLANNER_H

#include "dialects/spmd/Layout.h"
#include <functional>
#include <map>
#include <memory>

namespace dtcc::spmd {

struct Move {
  enum Kind : uint32_t {
    AllGather = uint32_t(CollectiveKind::AllGather),
    AllToAll = uint32_t(CollectiveKind::AllToAll),
    ReduceScatter = uint32_t(CollectiveKind::ReduceScatter),
    AllReduce = uint32_t(CollectiveKind::AllReduce),
    /// What a rank does alone.
    LocalSlice = kCollectives,
    ZeroFill,
  };
  Kind kind = AllGather;
  /// The dimension that grows, shrinks, or gives its axes away. -1: none.
  int64_t dim = -1;
  /// all_to_all: the dimension that takes the axes.
  int64_t to = -1;
  Axes axes;
  Reduction reduction = Reduction::Sum;

  static std::string_view name(Kind kind);
  /// The collective by which members of a group exchange data; nothing if they do not.
  std::optional<CollectiveKind> collective() const {
    return kind < kCollectives ? std::optional(CollectiveKind(kind)) : std::nullopt;
  }
  /// The dimension along which parts are joined, and the one of which a rank takes its part; -1: none.
  int64_t joins() const { return kind < kCollectives && infoOf(*collective()).out == Extent::Whole ? dim : -1; }
  int64_t splits() const {
    bool takes = kind == LocalSlice || (kind < kCollectives && infoOf(*collective()).in == Extent::Whole);
    return takes ? (joins() >= 0 ? to : dim) : -1;
  }
  bool operator==(const Move &) const = default;
};

/// The layout after a move, which must be possible.
Layout applyMove(const Move &move, Layout layout);
/// All moves that are possible from `layout`, on the way to `to`.
std::vector<Move> movesFrom(const Layout &layout, const Layout &to, const Mesh &mesh);

/// The price of a move in any unit. Bytes are those of the local value before and
/// after; `group` is the number of its members.
using MoveCost = std::function<double(const Move &move, double bytesBefore, double bytesAfter, int64_t group)>;

/// Bytes that a member sends, by ring algorithms, plus a little for every byte copied
/// and for every move.
double bytesMoved(const Move &move, double bytesBefore, double bytesAfter, int64_t group);

struct ReshardPlan {
  /// In order; neighbours that are one collective are fused.
  std::vector<Move> moves;
  double cost = 0;
};

class LayoutWays;

class ReshardPlanner {
public:
  /// `memoryCap`: largest local value on the way, in bytes, beyond the larger of the two ends; 0: no cap.
  explicit ReshardPlanner(Mesh mesh, MoveCost cost = bytesMoved, double memoryCap = 0);
  ~ReshardPlanner();

  /// The moves from `from` to `to` for a tensor of `shape` (unpadded; both layouts have the
  /// same padding). Nothing if there is no way: over time axes, or beyond the cap.
  const std::optional<ReshardPlan> &plan(const Layout &from, const Layout &to, const std::vector<int64_t> &shape,
                                         int64_t elementBytes);
  const Mesh &getMesh() const { return mesh; }

private:
  struct Key {
    Layout from, to;
    std::vector<int64_t> shape;
    int64_t elementBytes;
    auto operator<=>(const Key &) const = default;
  };
  std::optional<ReshardPlan> search(const Key &key);

  Mesh mesh;
  MoveCost cost;
  double memoryCap;
  std::map<Key, std::optional<ReshardPlan>> known;
  std::map<std::pair<Layout, Layout>, std::unique_ptr<LayoutWays>> ways;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_RESHARD_RESHARDPLANNER_H
