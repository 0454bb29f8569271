//===- Stragglers.cpp - Ranks that compute slower than others -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/health/Stragglers.h"

#include <algorithm>

namespace dtcc::rt {

Stragglers::Stragglers(const std::vector<int64_t> &programs) : records(programs.size()) {
  for (size_t rank = 0; rank < programs.size(); ++rank)
    alike[programs[rank]].push_back(static_cast<int64_t>(rank));
}

std::vector<Straggler> Stragglers::step(std::span<const double> seconds) {
  std::vector<Straggler> found;
  for (const auto &[program, ranks] : alike) {
    std::vector<double> sorted;
    for (int64_t rank : ranks)
      sorted.push_back(seconds[static_cast<size_t>(rank)]);
    std::sort(sorted.begin(), sorted.end());
    // The lower of the two in the middle: of two ranks one is compared with the other.
    const double median = sorted[(sorted.size() - 1) / 2];
    for (int64_t rank : ranks) {
      Record &record = records[static_cast<size_t>(rank)];
      const double mine = seconds[static_cast<size_t>(rank)];
      if (mine <= leastRatio * median || mine - median < leastSeconds) {
        record = {0, record.even + 1, 0, 0};
        continue;
      }
      record.seconds += mine;
      record.median += median;
      const bool isNew = record.even >= leastSteps;
      if (++record.slow < leastSteps)
        continue;
      if (isNew)
        found.push_back({rank, record.seconds / static_cast<double>(record.slow),
                         record.median / static_cast<double>(record.slow)});
      record.even = 0;
    }
  }
  return found;
}

} // namespace dtcc::rt
