//===- UpdateGroups.h - Parameters with equal rate and decay -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program has a rate and a decay for each parameter. `PROGRAM --info` and `dtcc-plan show` list what is alike.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_ABI_UPDATEGROUPS_H
#define DTCC_RUNTIME_ABI_UPDATEGROUPS_H

#include "runtime/abi/dtcc_rt.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace dtcc {

/// Parameters that train with one factor of the learning rate and one weight decay.
struct UpdateGroup {
  double lrScale = 1, decay = 0;
  std::vector<std::string> names;
  uint64_t cells = 0;

  /// "wte.weight", or "wpe.weight to wte.weight".
  std::string range() const { return names.front() + (names.size() > 1 ? " to " + names.back() : ""); }
};

/// The groups in the order of their first parameters. `nameOf` gives the name of a state.
template <typename NameOf>
std::vector<UpdateGroup> updateGroups(std::span<const dtcc_segment> segments, std::span<const dtcc_state> states,
                                      NameOf nameOf) {
  std::vector<UpdateGroup> groups;
  std::set<std::string> seen; // several stages may have a copy
  for (const dtcc_segment &segment : segments) {
    if (segment.state >= states.size() || !states[segment.state].trainable)
      continue;
    const dtcc_state &state = states[segment.state];
    std::string name(nameOf(state));
    if (!seen.insert(name).second)
      continue;
    auto at = std::find_if(groups.begin(), groups.end(), [&](const UpdateGroup &group) {
      return group.lrScale == segment.lr_scale && group.decay == segment.decay;
    });
    if (at == groups.end())
      at = groups.insert(groups.end(), UpdateGroup{segment.lr_scale, segment.decay, {}, 0});
    at->names.push_back(name);
    uint64_t count = 1;
    for (uint32_t d = 0; d < state.rank; ++d)
      count *= static_cast<uint64_t>(state.dims[d].size);
    at->cells += count;
  }
  return groups;
}

} // namespace dtcc

#endif // DTCC_RUNTIME_ABI_UPDATEGROUPS_H
