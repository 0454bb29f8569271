//===- EvenRuns.cpp - The longest run by dynamic programming
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/problem/EvenRuns.h"
#include "planner/problem/StageProblem.h"
#include <algorithm>

namespace dtcc::plan {

std::vector<size_t> cutEvenly(const std::vector<double> &seconds, size_t runs) {
  const size_t count = seconds.size(), width = count + 1;
  std::vector<double> sums(width);
  for (size_t i = 0; i < count; ++i)
    sums[i + 1] = sums[i] + seconds[i];
  // Row k, column end: the longest of k runs of the first `end` blocks, and where the last of them begins.
  std::vector<double> best((runs + 1) * width, kNever);
  std::vector<size_t> from(best.size());
  best[0] = 0;
  for (size_t k = 1; k <= runs; ++k) {
    const double *before = &best[(k - 1) * width];
    // Each run behind has a block at least.
    for (size_t end = k; end + (runs - k) <= count; ++end) {
      double &least = best[k * width + end];
      // The last run grows as it begins earlier.
      for (size_t begin = end; begin-- > k - 1 && sums[end] - sums[begin] <= least;)
        if (double longest = std::max(before[begin], sums[end] - sums[begin]); longest <= least) {
          least = longest;
          from[k * width + end] = begin;
        }
    }
  }
  std::vector<size_t> cuts;
  for (size_t k = runs, end = count; k > 1; --k) {
    end = from[k * width + end];
    cuts.push_back(end);
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

} // namespace dtcc::plan
