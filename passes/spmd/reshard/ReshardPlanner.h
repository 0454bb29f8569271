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

#include "passes/spmd/reshard/LayoutGraph.h"
#include <algorithm>
#include <functional>
#include <memory>
#include <span>

namespace dtcc::spmd {

struct ReshardPlan {
  /// In order; neighbours that are one collective are fused.
  std::vector<Move> moves;
  double cost = 0;
};

/// A question for a reshard.
struct ReshardKey {
  Layout from, to;
  std::vector<int64_t> shape;
  int64_t elementBytes;
};
/// A key that refers to its parts, so that a lookup copies nothing.
struct ReshardKeyReference {
  const Layout &from, &to;
  std::span<const int64_t> shape;
  int64_t elementBytes;
};
struct ReshardHash {
  using is_transparent = void;
  template <typename Each> size_t operator()(const Each &key) const {
    size_t hash = LayoutHash()(LayoutEnds(key.from, key.to));
    for (int64_t size : key.shape)
      hash = (hash ^ size_t(size)) * 0x100000001b3;
    return hash ^ size_t(key.elementBytes);
  }
};
struct SameReshard {
  using is_transparent = void;
  template <typename A, typename B> bool operator()(const A &a, const B &b) const {
    return a.elementBytes == b.elementBytes && std::ranges::equal(a.shape, b.shape) && a.from == b.from && a.to == b.to;
  }
};
template <typename Each> using ReshardMap = std::unordered_map<ReshardKey, Each, ReshardHash, SameReshard>;

class ReshardPlanner {
public:
  /// `memoryCap`: largest local value on the way, in bytes, beyond the larger of the two ends; 0: no cap.
  explicit ReshardPlanner(Mesh mesh, MoveCost cost = bytesMoved, double memoryCap = 0);

  /// The moves from `from` to `to` for a tensor of `shape` (unpadded; both layouts have the
  /// same padding). Nothing if there is no way: over time axes, or beyond the cap.
  const std::optional<ReshardPlan> &plan(const Layout &from, const Layout &to, const std::vector<int64_t> &shape,
                                         int64_t elementBytes);
  const Mesh &getMesh() const { return mesh; }

private:
  std::optional<ReshardPlan> search(const ReshardKey &key);

  Mesh mesh;
  MoveCost cost;
  double memoryCap;
  ReshardMap<std::optional<ReshardPlan>> known;
  std::unordered_map<std::pair<Layout, Layout>, std::unique_ptr<LayoutGraph>, LayoutHash, SameEnds> ways;
};

} // namespace dtcc::spmd

#endif // DTCC_PASSES_SPMD_RESHARD_RESHARDPLANNER_H
