//===- DeviceCounts.cpp - Numbers of devices that people rent
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/search/DeviceCounts.h"
#include <algorithm>
#include <cmath>

namespace dtcc::plan {

std::vector<int64_t> deviceCounts(double least, int64_t domain, int64_t most, int64_t oneByOne) {
  std::vector<int64_t> counts;
  for (int64_t devices = 1; devices <= std::min(domain, most); devices *= 2)
    if (double(devices) >= least)
      counts.push_back(devices);
  int64_t nodes = std::max<int64_t>(2, int64_t(std::ceil(least / double(domain))));
  for (int64_t step = 0; domain * nodes <= most; ++step) {
    counts.push_back(domain * nodes);
    nodes = step < oneByOne ? nodes + 1 : 2 * nodes;
  }
  return counts;
}

} // namespace dtcc::plan
