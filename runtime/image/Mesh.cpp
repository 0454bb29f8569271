//===- Mesh.cpp - Ranks, slots and their groups -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/image/Mesh.h"

#include <bit>

namespace dtcc::rt {

int64_t Mesh::sizeOf(const dtcc_communicator &communicator) const {
  int64_t all = extent(communicator.axes);
  if (communicator.members == 0)
    return all;
  return all / axes[communicator.axes.ids[0]].size * std::popcount(communicator.members);
}

std::vector<int64_t> Mesh::members(const dtcc_communicator &communicator, int64_t rank) const {
  std::vector<int64_t> mine = coordinates(rank, 0);
  const dtcc_axes &own = communicator.axes;
  auto takesPart = [&](int64_t coordinate) {
    return communicator.members == 0 || (coordinate < 64 && communicator.members >> coordinate & 1);
  };
  if (own.count > 0 && !takesPart(mine[own.ids[0]]))
    return {rank};
  std::vector<int64_t> result;
  for (int64_t member = 0, count = extent(own); member < count; ++member) {
    auto rest = member;
    for (int i = own.count; i-- > 0;) {
      int64_t size = axes[own.ids[i]].size;
      mine[own.ids[i]] = rest % size;
      rest /= size;
    }
    if (own.count == 0 || takesPart(mine[own.ids[0]]))
      result.push_back(rankAt(mine));
  }
  return result;
}

} // namespace dtcc::rt
