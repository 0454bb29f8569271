//===- Layout.h - How a tensor lies on a mesh, as a plain value
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Free of MLIR: what the planners compute with. The type !spmd.tensor holds the same.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_SPMD_LAYOUT_H
#define DTCC_DIALECTS_SPMD_LAYOUT_H

#include "runtime/abi/Collectives.h"
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtcc::spmd {

/// Mesh axes, outermost first.
using Axes = std::vector<std::string>;

/// Whether `axis` is one of `axes`.
bool contains(const Axes &axes, const std::string &axis);

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  /// Whether the axis is time: its coordinate is the micro-batch, not a part of the rank's number.
  bool time = false;
  bool operator==(const MeshAxis &) const = default;
};

/// Named axes, outermost first. Rank axes number the ranks row-major.
struct Mesh {
  std::vector<MeshAxis> axes;

  const MeshAxis *find(const std::string &name) const;
  /// The product of the sizes of `names`, all of which exist.
  int64_t product(const Axes &names) const;
  bool isTime(const std::string &name) const;
  /// The number of ranks.
  int64_t ranks() const;
  /// The name of the time axis, if there is one.
  std::optional<std::string> timeAxis() const;
  /// Micro-batches of a step: the size of the time axis, or 1.
  int64_t slots() const;
  /// The coordinate of a rank in an axis; `slot` is that of time axes.
  int64_t coordinate(int64_t rank, int64_t slot, const std::string &name) const;
  /// The linear index of a rank in the group of `names`.
  int64_t index(int64_t rank, int64_t slot, const Axes &names) const;
  /// The ranks that differ from `rank` in `names` alone, ordered by their index.
  std::vector<int64_t> group(int64_t rank, const Axes &names) const;
  /// Reason why `where` cannot name `axes`: "batch_axes must name axes of the mesh, got: "x"". Empty if it can.
  std::string whyNotAxes(const Axes &axes, const std::string &where, bool timeAllowed) const;
  bool operator==(const Mesh &) const = default;
};

struct Layout {
  /// Axes that split each dimension, outermost first.
  std::vector<Axes> dims;
  /// Sorted by name.
  Axes partial;
  Reduction reduction = Reduction::Sum;
  /// Per dimension, at least the size of the whole; empty: no dimension is padded.
  std::vector<int64_t> padded;

  /// Replicated, of that rank.
  static Layout replicated(size_t rank) { return {std::vector<Axes>(rank), {}, Reduction::Sum, {}}; }
  /// All axes that it uses: those of the dimensions, then the partial ones.
  Axes used() const;
  bool uses(const std::string &axis) const;
  /// Sorts the partial axes; drops padding that equals the shape.
  void normalize(const std::vector<int64_t> &shape);
  /// The shape of a rank's part; nothing if a padded extent does not divide, or an axis is unknown.
  std::optional<std::vector<int64_t>> localShape(const std::vector<int64_t> &shape, const Mesh &mesh) const;
  /// "[{mb,dp},{},{tp}] partial(sum {cp})".
  std::string str() const;
  bool operator==(const Layout &) const = default;
  std::strong_ordering operator<=>(const Layout &) const = default;
};

} // namespace dtcc::spmd

#endif // DTCC_DIALECTS_SPMD_LAYOUT_H
