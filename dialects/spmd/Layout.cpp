//===- Layout.cpp - How a tensor lies on a mesh, as a plain value
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/spmd/Layout.h"
#include <algorithm>

namespace dtcc::spmd {

bool contains(const Axes &axes, const std::string &axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Axes Layout::used() const {
  Axes all;
  for (const Axes &dim : dims)
    all.insert(all.end(), dim.begin(), dim.end());
  all.insert(all.end(), partial.begin(), partial.end());
  return all;
}

bool Layout::uses(const std::string &axis) const {
  return contains(partial, axis) ||
         std::any_of(dims.begin(), dims.end(), [&](const Axes &dim) { return contains(dim, axis); });
}

void Layout::normalize(const std::vector<int64_t> &shape) {
  std::sort(partial.begin(), partial.end());
  if (partial.empty())
    reduction = Reduction::Sum;
  if (padded == shape)
    padded.clear();
}

std::optional<std::vector<int64_t>> Layout::localShape(const std::vector<int64_t> &shape, const Mesh &mesh) const {
  std::vector<int64_t> local = padded.empty() ? shape : padded;
  for (size_t i = 0; i < local.size() && i < dims.size(); ++i) {
    for (const std::string &axis : dims[i])
      if (!mesh.find(axis))
        return std::nullopt;
    int64_t parts = mesh.product(dims[i]);
    if (local[i] % parts)
      return std::nullopt;
    local[i] /= parts;
  }
  return local;
}

static std::string braces(const Axes &axes) {
  std::string text = "{";
  for (const std::string &axis : axes)
    text += (text.size() > 1 ? "," : "") + axis;
  return text + "}";
}

std::string Layout::str() const {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? "," : "") + braces(dims[i]);
  text += "]";
  if (!partial.empty()) {
    text += " partial(" + std::string(mnemonicOf(reduction)) + " " + braces(partial) + ")";
  }
  return text;
}

} // namespace dtcc::spmd
