//===- Mesh.cpp - Named axes and the ranks that they number
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/spmd/Layout.h"
#include <algorithm>

namespace dtcc::spmd {

const MeshAxis *Mesh::find(const std::string &name) const {
  for (const MeshAxis &axis : axes)
    if (axis.name == name)
      return &axis;
  return nullptr;
}

int64_t Mesh::product(const Axes &names) const {
  int64_t result = 1;
  for (const std::string &name : names)
    result *= find(name)->size;
  return result;
}

bool Mesh::isTime(const std::string &name) const {
  const MeshAxis *axis = find(name);
  return axis && axis->time;
}

int64_t Mesh::ranks() const {
  int64_t result = 1;
  for (const MeshAxis &axis : axes)
    result *= axis.time ? 1 : axis.size;
  return result;
}

std::optional<std::string> Mesh::timeAxis() const {
  for (const MeshAxis &axis : axes)
    if (axis.time)
      return axis.name;
  return std::nullopt;
}

int64_t Mesh::slots() const {
  for (const MeshAxis &axis : axes)
    if (axis.time)
      return axis.size;
  return 1;
}

int64_t Mesh::coordinate(int64_t rank, int64_t slot, const std::string &name) const {
  // The innermost rank axis changes fastest.
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].time) {
      if (axes[i].name == name)
        return slot;
      continue;
    }
    if (axes[i].name == name)
      return rank % axes[i].size;
    rank /= axes[i].size;
  }
  return 0;
}

int64_t Mesh::index(int64_t rank, int64_t slot, const Axes &names) const {
  int64_t result = 0;
  for (const std::string &name : names)
    result = result * find(name)->size + coordinate(rank, slot, name);
  return result;
}

std::string Mesh::whyNotAxes(const Axes &names, const std::string &where, bool timeAllowed) const {
  for (size_t i = 0; i < names.size(); ++i) {
    std::string got = "got: \"" + names[i] + "\"";
    if (!find(names[i]))
      return where + " must name axes of the mesh, " + got;
    if (!timeAllowed && isTime(names[i]))
      return where + " must not name the time axis, " + got;
    if (std::find(names.begin(), names.begin() + i, names[i]) != names.begin() + i)
      return where + " must name an axis once, got twice: \"" + names[i] + "\"";
  }
  return "";
}

std::vector<int64_t> Mesh::group(int64_t rank, const Axes &names) const {
  std::vector<int64_t> members(product(names));
  for (int64_t other = 0; other < ranks(); ++other) {
    bool same = true;
    for (const MeshAxis &axis : axes)
      if (!axis.time && !contains(names, axis.name))
        same &= coordinate(rank, 0, axis.name) == coordinate(other, 0, axis.name);
    if (same)
      members[index(other, 0, names)] = other;
  }
  return members;
}

} // namespace dtcc::spmd
