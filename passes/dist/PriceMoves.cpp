//===- PriceMoves.cpp - Seconds of the moves of a reshard
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/dist/PriceMoves.h"

namespace dtcc::dist {

cost::Group groupOf(const Axes &axes, const Mesh &mesh) {
  cost::Group group;
  int64_t stride = 1;
  bool first = true;
  for (auto axis = mesh.axes.rbegin(); axis != mesh.axes.rend(); ++axis) {
    if (axis->time)
      continue;
    if (axis->size > 1 && contains(axes, axis->name)) {
      group.ranks *= axis->size;
      if (first)
        group.stride = stride;
      first = false;
    }
    stride *= axis->size;
  }
  return group;
}

MoveCost secondsOfMoves(const Mesh &mesh, const cost::Machine &machine) {
  return [mesh, machine](const Move &move, double before, double after, int64_t) {
    double packed = move.dim > 0 ? before + after : 0;
    double seconds = packed > 0 ? machine.secondsForWork(0, packed) : 0;
    cost::Group group = groupOf(move.axes, mesh);
    switch (move.kind) {
    case Move::AllGather:
      return seconds + machine.secondsForTransfer({cost::CollectiveKind::AllGather, after, group});
    case Move::ReduceScatter:
      return seconds + machine.secondsForTransfer({cost::CollectiveKind::ReduceScatter, before, group});
    case Move::AllReduce:
      return seconds + machine.secondsForTransfer({cost::CollectiveKind::AllReduce, before, group});
    case Move::AllToAll:
      return seconds + machine.secondsForTransfer({cost::CollectiveKind::AllToAll, before, group});
    case Move::LocalSlice:
    case Move::ZeroFill:
      // A little, so that of equal ways the shorter is taken.
      return seconds + machine.secondsForWork(0, bytesMoved(move, before, after, group.ranks));
    }
    return seconds;
  };
}

} // namespace dtcc::dist
