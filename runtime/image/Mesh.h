//===- Mesh.h - Sizes of the mesh and places on it ------------ -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mesh of a program, or of the program that wrote a checkpoint. Rank axes number
// the ranks row-major, time axes the slots; see dtcc_rt.h.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_IMAGE_MESH_H
#define DTCC_RUNTIME_IMAGE_MESH_H

#include "runtime/abi/dtcc_rt.h"

#include <cstddef>
#include <vector>

namespace dtcc::rt {

struct Mesh {
  struct Axis {
    int64_t size;
    bool time;
  };
  std::vector<Axis> axes;

  /// Product of the sizes of the rank axes, or of the time axes.
  int64_t ranks() const { return product(false); }
  int64_t slots() const { return product(true); }

  /// Product of the sizes of a set of axes.
  int64_t extent(const dtcc_axes &set) const {
    int64_t result = 1;
    for (int i = 0; i < set.count; ++i)
      result *= axes[set.ids[i]].size;
    return result;
  }
  /// Linear index of a set of axes at `coordinates` (one per axis).
  int64_t index(const dtcc_axes &set, const int64_t *coordinates) const {
    int64_t result = 0;
    for (int i = 0; i < set.count; ++i)
      result = result * axes[set.ids[i]].size + coordinates[set.ids[i]];
    return result;
  }
  /// Coordinates of a rank in a slot, one per axis.
  std::vector<int64_t> coordinates(int64_t rank, int64_t slot) const {
    std::vector<int64_t> result(axes.size());
    for (std::size_t i = axes.size(); i-- > 0;) {
      int64_t &rest = axes[i].time ? slot : rank;
      result[i] = rest % axes[i].size;
      rest /= axes[i].size;
    }
    return result;
  }
  /// The rank at `coordinates`.
  int64_t rankAt(const std::vector<int64_t> &coordinates) const {
    int64_t number = 0;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (!axes[i].time)
        number = number * axes[i].size + coordinates[i];
    return number;
  }
  /// The number of members of a communicator (1 for a rank that takes no part is not counted here).
  int64_t sizeOf(const dtcc_communicator &communicator) const;
  /// Ranks of the group of `rank` in the order of the group.
  std::vector<int64_t> members(const dtcc_communicator &communicator, int64_t rank) const;

private:
  int64_t product(bool time) const {
    int64_t result = 1;
    for (const Axis &axis : axes)
      result *= axis.time == time ? axis.size : 1;
    return result;
  }
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_IMAGE_MESH_H
