//===- RelaxedModes.cpp - The least time of blocks that may mix their modes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/RelaxedModes.h"
#include <algorithm>

namespace dtcc::plan {

void RelaxedModes::addType(const std::vector<BlockMode> &modes) {
  auto isFaster = [](const BlockMode &a, const BlockMode &b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.heldBytes < b.heldBytes;
  };
  uint32_t number = static_cast<uint32_t>(types.size());
  BlockMode at = *std::min_element(modes.begin(), modes.end(), isFaster);
  types.push_back({at.seconds, at.heldBytes});
  // From a point of the hull to the next, which takes fewest seconds for a byte.
  for (;;) {
    const BlockMode *next = nullptr;
    double least = kNever;
    for (const BlockMode &mode : modes)
      if (mode.heldBytes < at.heldBytes) {
        double each = (mode.seconds - at.seconds) / (at.heldBytes - mode.heldBytes);
        if (each < least || (each == least && mode.heldBytes < next->heldBytes)) {
          least = each;
          next = &mode;
        }
      }
    if (!next)
      break;
    exchanges.push_back({number, at.heldBytes - next->heldBytes, next->seconds - at.seconds});
    at = *next;
  }
}

void RelaxedModes::finish() {
  std::sort(exchanges.begin(), exchanges.end(),
            [](const Exchange &a, const Exchange &b) { return a.seconds * b.bytes < b.seconds * a.bytes; });
}

} // namespace dtcc::plan
