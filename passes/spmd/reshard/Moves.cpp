//===- Moves.cpp - Steps from one layout to another
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/reshard/Moves.h"
#include <algorithm>

namespace dtcc::spmd {

std::string_view Move::name(Kind kind) {
  if (kind < kCollectives)
    return mnemonicOf(CollectiveKind(kind));
  return kind == LocalSlice ? "local_slice" : "zero_fill";
}

static void erase(Axes &axes, const Axes &gone) {
  std::erase_if(axes, [&](const std::string &axis) { return contains(gone, axis); });
}

Layout applyMove(const Move &move, Layout layout) {
  if (move.joins() >= 0)
    erase(layout.dims[move.joins()], move.axes);
  if (move.collective() && infoOf(*move.collective()).reduces)
    erase(layout.partial, move.axes);
  if (move.splits() >= 0) {
    Axes &split = layout.dims[move.splits()];
    split.insert(split.end(), move.axes.begin(), move.axes.end());
  }
  if (move.kind == Move::ZeroFill)
    layout.partial.insert(layout.partial.end(), move.axes.begin(), move.axes.end());
  std::sort(layout.partial.begin(), layout.partial.end());
  if (layout.partial.empty())
    layout.reduction = Reduction::Sum;
  return layout;
}

double bytesMoved(const Move &move, double before, double after, int64_t group) {
  // A start costs about as much as 4 KiB; what is only copied locally, a fiftieth of what is sent.
  constexpr double kStart = 4096, kCopy = 0.02;
  std::optional<CollectiveKind> kind = move.collective();
  if (!kind)
    return 1 + kCopy * after;
  double rounds = infoOf(*kind).traffic == Traffic::TwiceAround ? 2 : 1;
  return kStart + rounds * infoOf(*kind).larger(before, after) * (1.0 - 1.0 / group);
}

/// Whether `axes` contains the time axis.
static bool anyTime(const Mesh &mesh, const Axes &axes) {
  return std::any_of(axes.begin(), axes.end(), [&](const std::string &axis) { return mesh.isTime(axis); });
}

std::vector<Move> movesFrom(const Layout &layout, const Layout &to, const Mesh &mesh) {
  std::vector<Move> moves;
  int64_t rank = layout.dims.size();
  for (int64_t dim = 0; dim < rank; ++dim) {
    const Axes &axes = layout.dims[dim];
    for (size_t count = 1; count <= axes.size(); ++count) {
      Axes last(axes.end() - count, axes.end());
      if (anyTime(mesh, last))
        break;
      moves.push_back({Move::AllGather, dim, -1, last, Reduction::Sum});
      for (int64_t other = 0; other < rank; ++other)
        if (other != dim)
          moves.push_back({Move::AllToAll, dim, other, last, Reduction::Sum});
    }
    for (const MeshAxis &axis : mesh.axes) {
      if (!layout.uses(axis.name) && to.uses(axis.name))
        moves.push_back({Move::LocalSlice, dim, -1, {axis.name}, Reduction::Sum});
      if (contains(layout.partial, axis.name) && !axis.time)
        moves.push_back({Move::ReduceScatter, dim, -1, {axis.name}, layout.reduction});
    }
  }
  // Partial axes that may be reduced, in every combination: reducing two at once is cheaper than twice.
  Axes partial;
  for (const std::string &axis : layout.partial)
    if (!mesh.isTime(axis))
      partial.push_back(axis);
  for (unsigned subset = 1; subset < (1u << partial.size()); ++subset) {
    Axes axes;
    for (size_t i = 0; i < partial.size(); ++i)
      if (subset & (1u << i))
        axes.push_back(partial[i]);
    moves.push_back({Move::AllReduce, -1, -1, axes, layout.reduction});
  }
  // A partial maximum cannot be filled with zeros.
  if (layout.partial.empty() || layout.reduction == Reduction::Sum)
    if (to.reduction == Reduction::Sum)
      for (const std::string &axis : to.partial)
        if (!layout.uses(axis))
          moves.push_back({Move::ZeroFill, -1, -1, {axis}, Reduction::Sum});
  return moves;
}

} // namespace dtcc::spmd
